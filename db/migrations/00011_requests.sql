-- Counting requests: one row per user, locked by counting, so that the count is exact across instances.

-- Functions of this file and of 00012 to 00016 that pin no search path are called only by functions that do: pinning it again at every turn costs
-- more than their work.

-- Turn functions have the user as their first argument, so that a distributed database can route them; it must be the user of the claims.
create function gateway.check_caller(uid uuid) returns void
    language plpgsql as $$
begin
    if uid is null or uid is distinct from gateway.user_id() then
        raise exception 'request.jwt.claims do not name this user' using errcode = 'insufficient_privilege';
    end if;
end $$;

-- Counts a request and `messages` messages; creates the rows of a new user. The row stays locked until the transaction ends, which serializes the
-- beginnings of a user's turns; until then uncount can revert the count.
create function gateway.count_request(uid uuid, messages integer) returns public.rate_limits
    language plpgsql as $$
declare
    counter public.rate_limits;
    -- Read before the lock is held, so another transaction may have opened a later window or day, which stays. A value further in the future was
    -- written before the database's clock was set back, and counts as expired.
    moment constant timestamptz := clock_timestamp();
    today constant date := moment at time zone 'UTC';
begin
    update public.rate_limits r
    set requests = case when r.window_started_at between moment - interval '1 minute' and moment + interval '5 seconds'
            then r.requests + 1 else 1 end,
        window_started_at = case when r.window_started_at between moment - interval '1 minute' and moment + interval '5 seconds'
            then r.window_started_at else moment end,
        messages = case when r.day between today and today + 1 then r.messages + $2 else $2 end,
        crisis_calls = case when r.day between today and today + 1 then r.crisis_calls else 0 end,
        day = case when r.day between today and today + 1 then r.day else today end
    where r.user_id = gateway.user_id() and r.user_id = uid
    returning * into counter;
    if found then
        return counter;
    end if;
    perform gateway.check_caller(uid);
    insert into public.users (id) values (uid) on conflict do nothing;
    insert into public.rate_limits (user_id) values (uid) on conflict do nothing;
    return gateway.count_request(uid, $2);
end $$;

-- Reverts a count of this transaction.
create function gateway.uncount(user_id uuid, requests integer, messages integer) returns public.rate_limits
    language plpgsql as $$
declare
    counter public.rate_limits;
begin
    update public.rate_limits r set requests = r.requests - $2, messages = r.messages - $3 where r.user_id = $1
    returning * into strict counter;
    return counter;
end $$;

-- For the X-RateLimit headers.
create function gateway.rate_of(counter public.rate_limits, per_minute integer) returns jsonb
    language sql stable
    as $$ select jsonb_build_object(
        'limit', per_minute,
        'remaining', greatest(0, per_minute - counter.requests),
        'reset_at', ceil(extract(epoch from counter.window_started_at + interval '1 minute'))::bigint) $$;

-- The position in `limits.tiers` of the user's tier: the highest that an entitlement gives them, or the first. `limits` as for gateway.begin_turn.
-- Returns a set, so that the planner inlines it.
create function gateway.tier_of(uid uuid, limits jsonb, moment timestamptz) returns setof integer
    language sql stable
begin atomic
    select coalesce(max(coalesce(given.by -> e.entitlement, given.by -> '*')::integer), 0)
    from gateway.user_entitlements e
    cross join lateral (select limits -> case when e.is_trial then 'trials' else 'paid' end) as given (by)
    where e.user_id = gateway.user_id() and e.access_until > moment - make_interval(secs => (limits -> 'grace_seconds')::integer);
end;

-- Counts one request of the caller's minute. `limits`: tiers, paid, trials and grace_seconds of gateway.begin_turn, and is_turn: whether the request
-- is one of a turn, to which the limit of their tier does not apply while they are in danger.
--   {outcome: taken | rate_limited | suspended, rate: {limit, remaining, reset_at}, retry_after, safety_level, country, locale, is_new_user}
create function gateway.take_request(uid uuid, limits jsonb) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    counter public.rate_limits := gateway.count_request(uid, 0);
    moment constant timestamptz := clock_timestamp();
    level constant integer := coalesce(
        (select max(gateway.level_at(s.level, s.raised_at, moment)) from public.safety_states s where s.user_id = gateway.user_id()), 0);
    outcome text := 'taken';
    retry_after integer;
    person record;
    per_minute integer;
begin
    -- A crash of the server may forget the counts of its last half second; waiting for the disk would cost every request more than that is worth.
    perform set_config('synchronous_commit', 'off', true);
    select u.suspended_at, u.country, u.locale, u.created_at,
        limits #> array['tiers', (select tier_of::text from gateway.tier_of(uid, limits, moment))] as tier
    into strict person from public.users u where u.id = gateway.user_id();
    per_minute := person.tier ->> 'requests_per_minute';
    if person.suspended_at is not null then
        outcome := 'suspended';
    elsif counter.requests > per_minute and not (level > 0 and (limits -> 'is_turn')::boolean) then
        outcome := 'rate_limited';
        retry_after := greatest(1, ceil(extract(epoch from counter.window_started_at + interval '1 minute' - moment)));
    end if;
    if outcome <> 'taken' then
        counter := gateway.uncount(uid, 1, 0);
    end if;
    return jsonb_build_object(
        'outcome', outcome, 'rate', gateway.rate_of(counter, per_minute), 'retry_after', retry_after, 'safety_level', level,
        'country', person.country, 'locale', person.locale,
        -- Longer than the transaction that created them can take: statements beside this one may not have seen the row.
        'is_new_user', person.created_at > moment - interval '10 seconds');
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.check_caller(uuid), gateway.count_request(uuid, integer), gateway.uncount(uuid, integer, integer),
    gateway.rate_of(public.rate_limits, integer), gateway.tier_of(uuid, jsonb, timestamptz), gateway.take_request(uuid, jsonb)
    to coach_gateway;
