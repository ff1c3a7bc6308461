-- Work after a request: a job is a row, written in the transaction of its cause and removed when it is done. At least once, by any instance.

-- dead: every attempt failed, or its handler rejected it. Nothing touches it until an operator requeues or deletes it.
create type gateway.job_state as enum ('ready', 'dead');
-- How one run of a job ended. returned: the instance shut down before the end; the run does not count.
create type gateway.job_outcome as enum ('done', 'retry', 'dead', 'returned');

create table gateway.jobs (
    id bigint generated always as identity primary key,
    -- NULL: the job is not a user's.
    user_id uuid,
    -- Names the handler.
    kind text not null check (char_length(kind) between 1 and 100),
    payload jsonb not null default '{}' check (octet_length(payload::text) <= 65536),
    -- The same for every run, so that a handler can make its effect once. NULL: the job may be enqueued any number of times.
    idempotency_key text check (char_length(idempotency_key) between 1 and 200),
    state gateway.job_state not null default 'ready',
    enqueued_at timestamptz not null default clock_timestamp(),
    due_at timestamptz not null,
    -- Runs begun, the present one included. Together with leased_by it tells a run from every later one.
    attempts integer not null default 0,
    max_attempts integer not null check (max_attempts >= 1),
    -- While an instance runs the job; an expired lease makes it due again.
    lease_until timestamptz,
    leased_by uuid,
    last_error text check (char_length(last_error) <= 1000)
-- A job is updated once and deleted. Taking it changes no indexed column, so with room on its page it writes no index (HOT). Vacuum comes after a
-- fixed number of dead rows, whatever the size, at full speed, and never locks the table to shorten its file.
) with (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = off);

create index idx_jobs_ready on gateway.jobs (kind, due_at) where state = 'ready';
-- A user's, when the user is removed.
create index idx_jobs_user_id on gateway.jobs (user_id, kind) where user_id is not null;
create index idx_jobs_dead on gateway.jobs (kind) where state = 'dead';
create unique index idx_jobs_idempotency_key on gateway.jobs (user_id, kind, idempotency_key) nulls not distinct
    where idempotency_key is not null;

-- The idempotency keys of jobs that are done, so that the same cause does not enqueue one again.
create table gateway.done_jobs (
    user_id uuid,
    kind text not null,
    idempotency_key text not null,
    done_at timestamptz not null default clock_timestamp(),
    unique nulls not distinct (user_id, kind, idempotency_key)
);
create index idx_done_jobs_done_at on gateway.done_jobs (done_at);

-- Enqueues a job. Returns its id; NULL when a job of this user and kind with this key waits or was done within the retention of keys.
create function gateway.enqueue_job(
    user_id uuid, kind text, payload jsonb default '{}', idempotency_key text default null,
    due_at timestamptz default clock_timestamp(), max_attempts integer default 20) returns bigint
    language plpgsql set search_path = '' as $$
declare
    job bigint;
begin
    insert into gateway.jobs (user_id, kind, payload, idempotency_key, due_at, max_attempts) values ($1, $2, $3, $4, $5, $6)
    on conflict do nothing
    returning id into job;
    -- After the insert: it has waited for a transaction that moves the key from there to here.
    if idempotency_key is not null and exists (
        select from gateway.done_jobs d where d.user_id is not distinct from $1 and d.kind = $2 and d.idempotency_key = $4)
    then
        delete from gateway.jobs j where j.id = job;
        return null;
    end if;
    return job;
end $$;

-- Takes due jobs of each kind, at most so many, under a lease. A job whose every attempt was begun, and whose last lease expired, is dead: its runs
-- ended with their process. A lease that ends later than one taken now could was taken before the clock was set back, and counts as expired.
create function gateway.take_jobs(taker uuid, kinds text[], limits integer[], lease_seconds double precision)
    returns table (id bigint, attempt integer, is_last boolean, user_id uuid, kind text, payload text, idempotency_key text)
    language plpgsql set search_path = '' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    moment constant timestamptz := clock_timestamp();
    lease_end constant timestamptz := moment + make_interval(secs => lease_seconds);
begin
    return query
        with due as materialized (
            select found.id
            from unnest(kinds, limits) as wanted (kind, at_most)
            cross join lateral (
                select j.id from gateway.jobs j
                where j.state = 'ready' and j.kind = wanted.kind and j.due_at <= moment
                    and (j.lease_until is null or j.lease_until not between moment and lease_end + interval '5 seconds')
                order by j.due_at limit wanted.at_most for update skip locked) as found
        ), taken as (
            update gateway.jobs j
            set state = case when j.attempts >= j.max_attempts then 'dead' else 'ready' end::gateway.job_state,
                attempts = j.attempts + (j.attempts < j.max_attempts)::integer,
                lease_until = case when j.attempts < j.max_attempts then lease_end end,
                leased_by = case when j.attempts < j.max_attempts then taker end,
                last_error = case when j.attempts < j.max_attempts then j.last_error else 'the lease of the last attempt expired' end
            from due where j.id = due.id
            returning j.*
        )
        select t.id, t.attempts, t.attempts >= t.max_attempts, t.user_id, t.kind, t.payload::text, t.idempotency_key
        from taken t where t.state = 'ready';
end $$;

-- Extends the leases of runs; returns the jobs that are still theirs.
create function gateway.renew_jobs(taker uuid, ids bigint[], attempts integer[], lease_seconds double precision) returns setof bigint
    language sql set search_path = '' set enable_seqscan = off
begin atomic
    update gateway.jobs j set lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
    from unnest($2, $3) as run (id, attempt)
    where j.id = run.id and j.attempts = run.attempt and j.leased_by = taker
    returning j.id;
end;

-- Records how runs ended. A run whose job another instance has taken meanwhile changes nothing; nor does recording it again.
-- delays: seconds until the next run of `retry`. errors: of `retry` and `dead`.
create function gateway.end_jobs(
    taker uuid, ids bigint[], attempts integer[], outcomes gateway.job_outcome[], errors text[], delays double precision[]) returns void
    language sql set search_path = '' set enable_seqscan = off
begin atomic
    with run as materialized (
        select * from unnest(ids, attempts, outcomes, errors, delays) as r (id, attempt, outcome, error, delay)
    ), done as (
        delete from gateway.jobs j using run r
        where j.id = r.id and j.attempts = r.attempt and j.leased_by = taker and r.outcome = 'done'
        returning j.user_id, j.kind, j.idempotency_key
    ), remembered as (
        insert into gateway.done_jobs (user_id, kind, idempotency_key)
        select d.user_id, d.kind, d.idempotency_key from done d where d.idempotency_key is not null
        on conflict do nothing
    )
    update gateway.jobs j
    set state = case r.outcome when 'dead' then 'dead' else 'ready' end::gateway.job_state,
        due_at = case r.outcome when 'retry' then clock_timestamp() + make_interval(secs => r.delay) else j.due_at end,
        -- Every later run still has a number above this one's: whoever takes it next begins with it.
        attempts = j.attempts - (r.outcome = 'returned')::integer,
        last_error = coalesce(left(r.error, 1000), j.last_error), lease_until = null, leased_by = null
    from run r
    where j.id = r.id and j.attempts = r.attempt and j.leased_by = taker and r.outcome <> 'done';
end;

-- Gives dead jobs all their attempts again, now. Returns how many of these were dead.
create function gateway.requeue_jobs(ids bigint[]) returns integer
    language plpgsql set search_path = '' as $$
declare
    requeued integer;
begin
    update gateway.jobs j set state = 'ready', due_at = clock_timestamp(), attempts = 0 where j.id = any (ids) and j.state = 'dead';
    get diagnostics requeued = row_count;
    return requeued;
end $$;

-- What operators watch, by kind: jobs that are due and run nowhere, dead ones and removals of accounts that failed as often as others do until they
-- are dead (they are tried without end), for how many seconds the oldest due one has waited, and how many seconds
-- ago the oldest was enqueued of those that are due, run, or failed and wait for their next attempt. A retry moves the due time, not this age.
create function gateway.job_figures()
    returns table (kind text, ready bigint, dead bigint, oldest_seconds double precision, age_seconds double precision)
    language sql stable set search_path = ''
begin atomic
    select j.kind, count(*) filter (where w.is_waiting), count(*) filter (where j.state = 'dead' or j.kind = 'delete_user' and j.attempts > 20),
        coalesce(extract(epoch from clock_timestamp() - min(j.due_at) filter (where w.is_waiting)), 0)::double precision,
        coalesce(extract(epoch from clock_timestamp() - min(j.enqueued_at) filter (where j.state = 'ready')), 0)::double precision
    from gateway.jobs j
    cross join lateral (
        select j.state = 'ready' and j.due_at <= clock_timestamp() and (j.lease_until is null or j.lease_until < clock_timestamp())
            as is_waiting) as w
    where j.state = 'dead' or j.due_at <= clock_timestamp() or j.attempts > 0
    group by j.kind;
end;

-- Forgets idempotency keys of jobs that were done longer ago than `keep`, at most so many; returns how many.
create function gateway.forget_done_jobs(keep interval, at_most integer) returns integer
    language plpgsql set search_path = '' as $$
declare
    forgotten integer;
begin
    delete from gateway.done_jobs where ctid = any (array(
        select d.ctid from gateway.done_jobs d where d.done_at < clock_timestamp() - keep order by d.done_at limit at_most));
    get diagnostics forgotten = row_count;
    return forgotten;
end $$;

revoke all on gateway.jobs, gateway.done_jobs from anon, authenticated, coach_gateway;
alter table gateway.jobs enable row level security;
alter table gateway.done_jobs enable row level security;
grant select, insert, update, delete on gateway.jobs, gateway.done_jobs to coach_gateway;
-- At work for a user the gateway enqueues that user's jobs; without claims it runs everybody's.
create policy jobs_gateway on gateway.jobs to coach_gateway
    using (user_id = gateway.user_id() or (select gateway.is_unbound()))
    with check (user_id = gateway.user_id() or (select gateway.is_unbound()));
create policy done_jobs_gateway on gateway.done_jobs to coach_gateway
    using (user_id = gateway.user_id() or (select gateway.is_unbound()))
    with check (user_id = gateway.user_id() or (select gateway.is_unbound()));

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.enqueue_job(uuid, text, jsonb, text, timestamptz, integer),
    gateway.take_jobs(uuid, text[], integer[], double precision),
    gateway.renew_jobs(uuid, bigint[], integer[], double precision),
    gateway.end_jobs(uuid, bigint[], integer[], gateway.job_outcome[], text[], double precision[]),
    gateway.requeue_jobs(bigint[]), gateway.job_figures(), gateway.forget_done_jobs(interval, integer)
    to coach_gateway;
