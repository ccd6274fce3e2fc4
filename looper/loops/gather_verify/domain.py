"""The domain of a task, from its words (SPEC 5.2). Cheap and repeatable; below `SURE` a model is asked."""

import re
from collections.abc import Iterator

from pydantic import BaseModel, Field

from looper.loops.gather_verify.answers import Domain

SURE = 0.5
"""Confidence from which the words decide; below it a model is asked (SPEC 5.2)."""
PRIOR = 1.5
"""Weight that speaks for no domain: one ordinary word alone (1 / 2.5) is not enough, one telling word (2 / 3.5) is."""
TELLING, ORDINARY = 2, 1
"""Weight of a word that hardly occurs elsewhere, and of one that does."""
LONGEST = 3
"""Words in the longest entry of the table."""

TABLE: dict[Domain, tuple[str, str]] = {
    "coding": (
        "bug, refactor, refactoring, unit test, function, compiler, codebase, source code, pull request, endpoint, "
        "rest api, parser, python, javascript, typescript, java, rust, c++, c#, golang, algorithm, stack trace, "
        "traceback, exception, type hint, debug, off by one, regex, recursion, class method, py, js, "
        "ts, git, software, null pointer, race condition, memory leak",
        "code, program, implement, implementation, class, method, loop, variable, module, test, api, error, fix, "
        "repair, rename, argument, library, command line, script, repository, commit, branch, app, interface, "
        "fail, crash, framework, backend, frontend, website, return, syntax, types",
    ),
    "correspondence": (
        "email, e mail, letter, reply, inbox, mailbox, mail, follow up, correspondence, salutation, regards",
        "answer, message, respond, response, customer, landlord, apology, apologise, apologize, invitation, invite, "
        "thank, thanks, complaint, complain, polite, politely, dear, recipient, forward, remind, reminder, "
        "decline, condolence, neighbour, neighbor, tell",
    ),
    "research": (
        "literature, citation, study, research, peer reviewed, meta analysis, systematic review, evidence, "
        "hypothesis, bibliography, scholarly, scientific, literature review, clinical trial",
        "paper, journal, source, survey, compare, comparison, effect, findings, find out, investigate, known, theory, "
        "summarise, summarize, cite, reference, agree, question, experiment, author, cause, history of, learning",
    ),
    "document": (
        "manual, user manual, documentation, specification, table of contents, glossary, handbook, readme, "
        "white paper, guide, chapter, proofread, appendix, user guide, tutorial, faq, markdown, changelog",
        "document, report, section, heading, notes, page, template, docs, minutes, outline, format, paragraph, edit, "
        "usage, installation, api, describe, description, reader, summary, executive summary, instructions",
    ),
    "social": (
        "tweet, linkedin, instagram, facebook, tiktok, youtube, hashtag, social media, follower, reddit, mastodon, "
        "twitter, bluesky, blog post, influencer, subscriber, caption, viral",
        "post, thread, announce, announcement, community, channel, share, audience, comment, campaign, engagement, "
        "reach, like, profile, feed",
    ),
    "creative": (
        "poem, story, short story, novel, lyrics, song, haiku, stanza, plot, fiction, fantasy, screenplay, sonnet, "
        "verse, chorus, fairy tale, poetry, limerick, storyboard, protagonist, rhyme",
        "character, dialogue, scene, invent, imagine, play, joke, slogan, melody, painting, design, logo, theme, "
        "funny, metaphor, narrator, birthday, game, name for",
    ),
    "personal": (
        "holiday, vacation, meal plan, recipe, household, fitness, wedding, workout, my family, diet, itinerary, "
        "back pain, my children, my kid, my partner, groceries, grocery, my garden, hobby",
        "my, trip, travel, budget, health, meal, cook, birthday, children, child, rent, routine, home, family, "
        "sleep, habit, morning, savings, gift, friend, garden, pet, dog, cat, move house, doctor, week, weekly, tent",
    ),
    "professional": (
        "resume, cv, cover letter, job interview, business plan, stakeholder, performance review, agenda, "
        "job application, salary, career, project manager, investor, quarterly, sales pitch, pitch deck, "
        "pricing, business case, okr, kpi, curriculum vitae, promotion",
        "meeting, interview, team, manager, client, contract, proposal, negotiate, negotiation, job, strategy, market, "
        "slides, slide, presentation, employee, employer, hire, hiring, goal, company, sales, invoice, business, "
        "colleague, recruiter, roadmap, nurse, work",
    ),
    "technical_ops": (
        "deploy, deployment, kubernetes, docker, dockerfile, nginx, rollback, terraform, ansible, firewall, dns, tls, "
        "ssl, ssh, ci, ci pipeline, cluster, backup, on call, helm, systemd, devops, uptime, load balancer, "
        "health check, cron, linux, vpn, prometheus, grafana, continuous integration, incident, infrastructure, aws",
        "server, disk, log, monitor, monitoring, alert, configure, configuration, certificate, service, database, "
        "outage, network, container, image, machine, install, upgrade, patch, latency, permission, host, cloud, "
        "restart, migrate, migration, key, pipeline, release",
    ),
    "data": (
        "csv, sql, dataset, data set, data frame, dataframe, pandas, spreadsheet, pivot table, outlier, regression, "
        "excel, histogram, correlation, bar chart, data, scatter plot, missing value, time series, machine learning, "
        "etl, statistics, line chart, parquet, standard deviation",
        "chart, column, row, query, table, plot, distribution, average, median, mean, accuracy, train, model, "
        "duplicate, clean, merge, join, region, revenue, analyse, analyze, analysis, forecast, predict, trend, "
        "percentile, sample, variance, count, month",
    ),
}  # fmt: skip
"""Telling and ordinary words by domain. `general` has none: it is what is left."""

_TOKEN = re.compile(r"\w+[+#]*")


class Guess(BaseModel):
    """What the words of a task say of its domain."""

    domain: Domain
    confidence: float = Field(ge=0, le=1)
    """Weight of the domain's words / (weight of all domains' words + `PRIOR`), each word once; 0 without words."""
    words: list[str]
    """Words of the table that speak for this domain, in the order of the text."""


def classified(text: str) -> Guess:
    """The domain whose words weigh most; `general` with confidence 0 if no word of the table occurs.

    Whole words and simple plurals, in any case. Of entries that overlap the longest counts alone: a cover letter is
    no letter. With equal weights the domain that comes first in the table wins, always below `SURE`.
    """
    found = list(dict.fromkeys(_matches(text)))
    weights = {domain: sum(WORDS[word].get(domain, 0) for word in found) for domain in TABLE}
    best = max(TABLE, key=lambda domain: weights[domain])
    if not weights[best]:
        return Guess(domain="general", confidence=0.0, words=[])
    confidence = weights[best] / (sum(weights.values()) + PRIOR)
    return Guess(domain=best, confidence=confidence, words=[word for word in found if best in WORDS[word]])


def _matches(text: str) -> Iterator[str]:
    """Entries of the table in the text, longest first at each place, none over another."""
    tokens = [token.strip("_") for token in _TOKEN.findall(text.lower())]
    at = 0
    while at < len(tokens):
        for length in range(min(LONGEST, len(tokens) - at), 0, -1):
            if word := _FORMS.get(" ".join(tokens[at : at + length])):
                yield word
                at += length - 1
                break
        at += 1


def _read() -> dict[str, dict[Domain, int]]:
    words: dict[str, dict[Domain, int]] = {}
    for domain, lists in TABLE.items():
        for weight, listed in zip((TELLING, ORDINARY), lists, strict=True):
            for word in listed.split(", "):
                words.setdefault(word, {}).setdefault(domain, weight)
    return words


def _plural(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}s"


WORDS = _read()
"""Weight of each word by domain."""
_FORMS = {_plural(word): word for word in WORDS} | {word: word for word in WORDS}
