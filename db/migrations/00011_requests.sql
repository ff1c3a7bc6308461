-- Counting requests: one row a user, locked while it counts, so that the count is exact whichever gateway asks.

-- The user's counter, locked, with its window and day brought up to date. Makes the user's row when he is new.
create function gateway.lock_counter(user_id uuid) returns public.rate_limits
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    counter public.rate_limits;
    moment timestamptz;
begin
    if user_id is null then
        raise exception 'request.jwt.claims name no user' using errcode = 'insufficient_privilege';
    end if;
    select * into counter from public.rate_limits r where r.user_id = $1 for update;
    if not found then
        insert into public.users (id) values (user_id) on conflict do nothing;
        insert into public.rate_limits (user_id) values ($1) on conflict do nothing;
        select * into strict counter from public.rate_limits r where r.user_id = $1 for update;
    end if;

    -- Read after the lock was had: the transaction may have begun before its predecessor's.
    moment := clock_timestamp();
    if counter.window_started_at <= moment - interval '1 minute' then
        counter.window_started_at := moment;
        counter.requests := 0;
    end if;
    if counter.day <> (moment at time zone 'UTC')::date then
        counter.day := (moment at time zone 'UTC')::date;
        counter.messages := 0;
    end if;
    return counter;
end $$;

create function gateway.store_counter(counter public.rate_limits) returns void
    language plpgsql set search_path = '' as $$
begin
    update public.rate_limits r
    set window_started_at = counter.window_started_at, requests = counter.requests, day = counter.day, messages = counter.messages
    where r.user_id = counter.user_id;
end $$;

-- For the X-RateLimit headers.
create function gateway.rate_of(counter public.rate_limits, per_minute integer) returns jsonb
    language sql immutable
    return jsonb_build_object(
        'limit', per_minute,
        'remaining', greatest(0, per_minute - counter.requests),
        'reset_at', ceil(extract(epoch from counter.window_started_at + interval '1 minute'))::bigint);

-- Takes one request from the caller's minute:
--   {outcome: taken | rate_limited | suspended, rate: {limit, remaining, reset_at}}
create function gateway.take_request(per_minute integer) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    uid constant uuid := gateway.user_id();
    counter public.rate_limits := gateway.lock_counter(uid);
    outcome text := 'taken';
begin
    if (select u.suspended_at is not null from public.users u where u.id = uid) then
        outcome := 'suspended';
    elsif counter.requests >= per_minute then
        outcome := 'rate_limited';
    else
        counter.requests := counter.requests + 1;
        perform gateway.store_counter(counter);
    end if;
    return jsonb_build_object('outcome', outcome, 'rate', gateway.rate_of(counter, per_minute));
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.lock_counter(uuid), gateway.store_counter(public.rate_limits), gateway.rate_of(public.rate_limits, integer),
    gateway.take_request(integer)
    to coach_gateway;
