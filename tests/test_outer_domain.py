"""The domain of a task by its words (SPEC 5.2)."""

from typing import get_args

import pytest

from looper.loops.gather_verify.answers import Domain
from looper.loops.gather_verify.domain import SURE, TABLE, classified
from looper.loops.gather_verify.policies import classify

TUNED = [
    ("coding", "Fix the off-by-one error in the pagination function and add a unit test"),
    ("coding", "Refactor parser.py so that it no longer needs a global variable"),
    ("coding", "Implement a REST endpoint that returns the courses of a student"),
    ("coding", "Why does this loop never end? Find the bug and repair it"),
    ("correspondence", "Reply to the customer who complains about a late delivery"),
    ("correspondence", "Write an e-mail to my landlord about the broken heating"),
    ("correspondence", "Draft a letter of thanks to everybody who donated"),
    ("correspondence", "Answer these three messages politely and keep each below 80 words"),
    ("research", "Find recent papers on retrieval with sparse vectors and summarise what they agree on"),
    ("research", "Compare the evidence for and against a four-day week, with sources"),
    ("research", "What is known about the effect of caffeine on sleep? Give citations"),
    ("research", "Survey the literature on loop detection in agents"),
    ("document", "Write a user manual for the new coffee machine"),
    ("document", "Write the API specification of the library service with a chapter on errors"),
    ("document", "Proofread the annual report and mend its table of contents"),
    ("document", "Turn these notes into a guide with sections and a glossary"),
    ("social", "Write a LinkedIn post that announces our open day"),
    ("social", "A thread of six tweets on why the bus line must stay"),
    ("social", "Plan Instagram captions and hashtags for one week"),
    ("social", "What should we post to our followers about the outage?"),
    ("creative", "Write a short story about a lighthouse keeper who counts ships"),
    ("creative", "A poem of four stanzas for my grandmother's birthday"),
    ("creative", "Invent three characters and a plot for a fantasy novel"),
    ("creative", "Write lyrics for a song about rain, with a chorus that rhymes"),
    ("personal", "Plan my holiday in Norway with two children and a tent"),
    ("personal", "Make a weekly meal plan that is vegetarian and cheap"),
    ("personal", "How do I keep my household budget when the rent goes up?"),
    ("personal", "Set up a fitness routine for me, I have back pain in the morning"),
    ("professional", "Prepare me for an interview as a nurse and improve my resume"),
    ("professional", "Agenda for the quarterly meeting with our stakeholders"),
    ("professional", "Write a business plan for a bakery, with pricing and market"),
    ("professional", "Draft goals for the performance review of my team"),
    ("technical_ops", "Deploy the service to Kubernetes with a rollback when the health check fails"),
    ("technical_ops", "Our server runs out of disk every night, find out which log grows"),
    ("technical_ops", "Set up backups of the database and alerts for the cluster"),
    ("technical_ops", "Configure nginx with TLS certificates behind the firewall"),
    ("data", "Clean this CSV: drop duplicates, fill missing values, fix the date column"),
    ("data", "Write an SQL query for revenue by month and region"),
    ("data", "Plot the distribution of response times and mark the outliers"),
    ("data", "Train a regression on the sales dataset and report its accuracy"),
    ("general", "Help me with this"),
    ("general", "Make it better than it was yesterday"),
    ("general", "I need something by Friday"),
    ("general", "Think about what could go wrong"),
]
"""Written before the table of words; the words were tuned on these."""

UNSEEN = [
    ("coding", "The tests of the calendar module fail on Windows; make them pass"),
    ("coding", "Add type hints to this class and rename its methods"),
    ("correspondence", "Tell my professor in an email that I will miss the seminar"),
    ("correspondence", "Write a polite follow-up to the recruiter who has not answered"),
    ("research", "Which studies show that noise harms learning? List the journals"),
    ("research", "Do a literature review of battery recycling"),
    ("document", "Write a README with installation and usage"),
    ("document", "Shorten the white paper to ten pages and keep all headings"),
    ("social", "Give me a Facebook post for the bake sale"),
    ("social", "How can our YouTube channel reach more subscribers?"),
    ("creative", "Write a dialogue between two robots in a play"),
    ("creative", "Haiku about autumn leaves"),
    ("personal", "Help me plan my wedding on a small budget"),
    ("personal", "Which recipes can I cook with what is left in my fridge?"),
    ("professional", "Write a cover letter for a job as project manager"),
    ("professional", "Slides for the sales pitch to an investor"),
    ("technical_ops", "Write a Dockerfile and a CI pipeline that pushes the image"),
    ("technical_ops", "Rotate the SSH keys on all our Linux machines"),
    ("data", "Build a pivot table from the spreadsheet and a bar chart"),
    ("data", "Merge two pandas data frames by customer and count the rows"),
    ("general", "What do you make of the picture?"),
    ("general", "Decide which of the two is nicer"),
]
"""Written at the same time and never tuned on: what a new sentence may expect."""

LATER = [
    ("coding", "Our mobile app freezes when the user taps twice, please get rid of the race condition"),
    ("coding", "Port the billing library from Java to Kotlin without changing its behaviour"),
    ("correspondence", "Please word a message declining the invitation to the gala, friendly but firm"),
    ("correspondence", "Remind the tenant in writing that the deposit is due"),
    ("research", "Is intermittent fasting better than calorie counting? I want to see what trials found"),
    ("research", "Which vector databases exist and how do they differ in licence and speed?"),
    ("document", "Produce an onboarding handbook for volunteers of a food bank"),
    ("document", "Convert the minutes of the board into a two-page summary with numbered headings"),
    ("social", "Write something for Twitter about our new vegan menu"),
    ("social", "Ideas to get more comments under our posts"),
    ("creative", "Tell a bedtime tale about a dragon who is afraid of fire"),
    ("creative", "Ten names for a boat that sails only at night"),
    ("personal", "My son starts school in August, what do we have to buy?"),
    ("personal", "A packing list for a weekend in the mountains with our dog"),
    ("professional", "How do I ask my boss for a raise?"),
    ("professional", "Write the job advertisement for a data engineer"),
    ("technical_ops", "The nightly job on the build machine hangs since the kernel upgrade"),
    ("technical_ops", "Move our mail server to another provider without downtime"),
    ("data", "Which of the columns in sales.xlsx predict that a customer leaves?"),
    ("data", "Compute the average waiting time per clinic from the survey answers"),
    ("general", "What would you do in my place?"),
    ("general", "Give me five options and pick the best"),
]
"""Written after the table was finished, to be difficult, and never tuned on."""


def shares(rows: list[tuple[str, str]]) -> tuple[int, int, int]:
    """How many are right, how many are sure, how many of the sure are right."""
    guesses = [(domain, classified(text)) for domain, text in rows]
    sure = [(domain, guess) for domain, guess in guesses if guess.confidence >= SURE]
    return sum(d == g.domain for d, g in guesses), len(sure), sum(d == g.domain for d, g in sure)


@pytest.mark.parametrize(("domain", "text"), TUNED)
def test_the_words_of_a_task_tell_its_domain(domain: str, text: str) -> None:
    assert classified(text).domain == domain


def test_every_domain_has_sentences() -> None:
    assert {domain for domain, _ in TUNED} == {domain for domain, _ in UNSEEN} == set(get_args(Domain))


def test_who_is_sure_is_right_and_most_plain_sentences_are_sure() -> None:
    assert shares(TUNED) == (44, 36, 36)
    assert shares(UNSEEN) == (22, 20, 20)


def test_on_difficult_sentences_the_words_are_unsure_where_they_are_wrong() -> None:
    assert shares(LATER) == (13, 7, 7)


def test_the_confidence_is_the_weight_by_all_weights_and_the_prior() -> None:
    assert classified("an outage").confidence == pytest.approx(1 / 2.5)  # one ordinary word
    assert classified("a tweet").confidence == pytest.approx(2 / 3.5)  # one telling word
    assert classified("a tweet of the outage").confidence == pytest.approx(2 / 4.5)  # 2 of 3
    assert classified("a tweet with a hashtag").confidence == pytest.approx(4 / 5.5)


def test_nothing_known_is_general_with_confidence_zero() -> None:
    for text in ("", "  \n", "???", "xyzzy", "Было бы хорошо", "\x00"):
        guess = classified(text)
        assert (guess.domain, guess.confidence, guess.words) == ("general", 0.0, [])


def test_words_are_whole_in_any_case_and_simple_plurals() -> None:
    assert classified("tweeted retweets poems_of").domain == "general"
    assert classified("TWEETS").words == ["tweet"]
    assert classified("Studies, _recipes_ and BUGS").confidence == pytest.approx(2 / 7.5)
    assert classified("two branches").words == ["branch"]


def test_signs_belong_to_the_names_of_languages() -> None:
    assert classified("in C++").words == ["c++"]
    assert classified("in C#.").words == ["c#"]
    assert classified("in C").domain == "general"


def test_the_longer_entry_hides_the_shorter_ones_within_it() -> None:
    assert classified("a cover letter").domain == "professional"
    assert classified("a cover-letter").words == ["cover letter"]
    assert classified("cover it; a letter").words == ["letter"]
    assert classified("a job interview").words == ["job interview"]


def test_a_word_counts_once_however_often_it_comes() -> None:
    assert classified("tweet " * 50) == classified("tweet")


def test_a_tie_is_never_sure_and_always_the_same() -> None:
    guess = classified("a poem as a tweet")
    assert (guess.domain, guess.words) == ("social", ["tweet"])
    assert guess.confidence < SURE


def test_the_words_come_in_the_order_of_the_text() -> None:
    assert classified("hashtags for a tweet in the thread").words == ["hashtag", "tweet", "thread"]


def test_the_table_has_every_domain_but_general_and_no_word_twice_in_one() -> None:
    assert list(TABLE) == list(get_args(Domain))[:-1]
    for domain, (telling, ordinary) in TABLE.items():
        words = [*telling.split(", "), *ordinary.split(", ")]
        assert sorted(words) == sorted(set(words)), domain
        assert all(word == " ".join(word.lower().split()) and len(word.split()) <= 3 for word in words), domain


@pytest.mark.parametrize(
    "text", ["def gcd(a, b):\n    return a\n", "x = 1\nclass Queue:\n    pass\n", "async def go(): ..."]
)
def test_without_a_model_a_task_that_has_a_program_in_it_is_coding(text: str) -> None:
    guess = classified("hand out numbered hooks for coats").model_dump()
    assert classify(guess=guess, material={"program": text}).domain == "coding"
    for words in ("the default is a class of its own", "", "def. of terms"):
        assert classify(guess=guess, material={"program": words}).domain == "general"
