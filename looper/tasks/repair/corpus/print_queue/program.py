def print_order(jobs, limit):
    """Names of print jobs in the order in which they are printed; a job is [name, priority, pages].

    Higher priority first; among equals first come, first served. Jobs of more than `limit` pages wait until all others
    are done, in the order in which they came.
    """
    small = [job for job in jobs if job[2] <= limit]
    large = [job for job in jobs if job[2] > limit]
    order = sorted(sorted(small), key=lambda job: -job[1]) + large
    return [name for name, priority, pages in order]
