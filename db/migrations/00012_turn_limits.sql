-- The limits of a turn: the user and their tier, budgets, and the rejection by one of them.

-- A turn that begins: what is known of it, until it is written.
create type gateway.turn_plan as (
    moment timestamptz,
    -- The user's change number of this transaction.
    change bigint,
    -- UTC; of budget and ledger alike, however long the transaction takes.
    day date,
    tier text,
    -- In budgets, for this attempt: dollars, and tokens.
    reserve numeric,
    reserve_tokens bigint,
    -- False: the turn is answered by the fixed text, and no model is called.
    calls_model boolean,
    conversation_id uuid,
    -- Of a conversation that begins with this turn.
    source public.conversation_source,
    -- The user's message in its conversation.
    seq integer,
    persona_id uuid,
    persona_version integer,
    country text,
    locale text,
    owner_instance uuid,
    owner_epoch bigint,
    purpose public.usage_purpose,
    -- The notice that is due; NULL: none.
    disclosure public.disclosure_kind
);

-- What the request and the time say of the turn; the rest is read from the database.
create function gateway.requested_plan(request jsonb, moment timestamptz) returns gateway.turn_plan
    language plpgsql stable as $$
declare
    plan gateway.turn_plan;
begin
    plan.moment := moment;
    plan.day := moment at time zone 'UTC';
    plan.reserve := coalesce(gateway.to_usd((request ->> 'reserve_nanodollars')::bigint), 0);
    plan.reserve_tokens := coalesce((request ->> 'reserve_tokens')::bigint, 0);
    plan.source := coalesce(request ->> 'source', 'app');
    plan.purpose := case plan.source when 'preview' then 'preview' else 'chat' end;
    plan.owner_instance := request #>> '{owner,instance}';
    plan.owner_epoch := request #>> '{owner,epoch}';
    return plan;
end $$;

-- What begin_turn reads about a user.
create type gateway.turn_user as (
    suspended boolean,
    account_id uuid,
    country text,
    locale text,
    -- In the request's `limits.tiers`.
    tier integer,
    -- There are safety states; whether one still applies depends on the time.
    was_in_danger boolean,
    -- Conversations with a running turn.
    running_in uuid[],
    -- The turn of the request's idempotency key.
    known_turn uuid,
    profile jsonb,
    consents jsonb,
    is_minor boolean
);

-- SQL, which the planner inlines. Here and below rows are compared with gateway.user_id() and not with an argument, because the policies do so too:
-- equal conditions are tested once.
create function gateway.turn_user(uid uuid, request jsonb, key text, moment timestamptz) returns setof gateway.turn_user
    language sql stable
begin atomic
    select u.suspended_at is not null, u.account_id, u.country, u.locale,
        (select tier_of from gateway.tier_of(gateway.user_id(), request -> 'limits', $4)),
        exists (select from public.safety_states s where s.user_id = gateway.user_id()),
        array(select r.conversation_id from gateway.running_turns r where r.user_id = gateway.user_id()),
        (select t.id from public.turns t where t.user_id = gateway.user_id() and t.idempotency_key = $3),
        (select jsonb_build_object('values', p."values", 'goals', p.goals, 'situation', p.situation)
            from public.context_profiles p where p.user_id = gateway.user_id()),
        u.consents, u.is_minor
    from public.users u
    where u.id = gateway.user_id();
end;

create function gateway.rejection(reason text, retry_after integer, hit_limit integer, safety_level integer) returns jsonb
    language sql stable
    return jsonb_build_object(
        'outcome', 'refused', 'reason', reason, 'retry_after', retry_after, 'limit', hit_limit, 'safety_level', safety_level);

-- retry_after in seconds; resets_at: NULL when the limit does not reset at a known time; shared_budget: installation, persona or tier, when users
-- share the budget that is used up.
create type gateway.limit_hit as (reason text, retry_after integer, hit_limit integer, resets_at timestamptz, shared_budget text);

-- A limit that resets at a known time.
create function gateway.limit_until(reason text, hit_limit integer, resets_at timestamptz, moment timestamptz) returns gateway.limit_hit
    language sql immutable
    return (reason, greatest(1, ceil(extract(epoch from resets_at - moment)))::integer, hit_limit, resets_at, null)::gateway.limit_hit;

-- The budget of tokens or money that is used up; NULL when none. `budgets`: of the tier. Reserves of running turns count as spent. Notes the largest
-- share that is used, from half on and in steps of a twentieth, so that most turns write nothing.
create function gateway.budget_limit(
    uid uuid, budgets jsonb, reserve numeric, reserve_tokens bigint, day date, moment timestamptz) returns gateway.limit_hit
    language plpgsql as $$
declare
    month constant date := date_trunc('month', day::timestamp);
    tomorrow constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
    next_month constant timestamptz := (month::timestamp + interval '1 month') at time zone 'UTC';
    used record;
    share double precision;
begin
    select coalesce(sum(b.tokens + b.reserved_tokens) filter (where b.day = $5), 0) as tokens_today,
        coalesce(sum(b.tokens + b.reserved_tokens), 0) as tokens,
        coalesce(sum(b.spent_usd + b.reserved_usd) filter (where b.day = $5), 0) as cost_today,
        coalesce(sum(b.spent_usd + b.reserved_usd), 0) as cost
    into used
    from public.budgets b where b.user_id = uid and b.day between month and $5;
    share := greatest(
        (used.tokens + reserve_tokens)::double precision / nullif((budgets ->> 'tokens_per_month')::integer, 0),
        (used.tokens_today + reserve_tokens)::double precision / nullif((budgets ->> 'tokens_per_day')::integer, 0),
        ((used.cost + reserve) / nullif(gateway.to_usd((budgets ->> 'nanodollars_per_month')::bigint), 0))::double precision,
        ((used.cost_today + reserve) / nullif(gateway.to_usd((budgets ->> 'nanodollars_per_day')::bigint), 0))::double precision);
    if share >= 0.5 then
        insert into public.budgets as b (user_id, day, limit_share) values (uid, $5, least(share, 1000000))
        on conflict on constraint budgets_pkey do update set limit_share = excluded.limit_share
            where coalesce(b.limit_share, 0) < excluded.limit_share - 0.05;
    end if;
    return case
        when used.tokens + greatest(reserve_tokens, 1) > (budgets ->> 'tokens_per_month')::integer
            then gateway.limit_until('budget_exhausted', (budgets ->> 'tokens_per_month')::integer, next_month, moment)
        when used.cost + reserve > gateway.to_usd((budgets ->> 'nanodollars_per_month')::bigint)
            then gateway.limit_until('budget_exhausted', null, next_month, moment)
        when used.tokens_today + greatest(reserve_tokens, 1) > (budgets ->> 'tokens_per_day')::integer
            then gateway.limit_until('budget_exhausted', (budgets ->> 'tokens_per_day')::integer, tomorrow, moment)
        when used.cost_today + reserve > gateway.to_usd((budgets ->> 'nanodollars_per_day')::bigint)
            then gateway.limit_until('budget_exhausted', null, tomorrow, moment)
    end;
end $$;

-- The ordinary limit that a turn would exceed; NULL when none. `running`: number of the user's running turns. An absent limit does not limit.
create function gateway.ordinary_limit(
    uid uuid, counter public.rate_limits, tier jsonb, running integer, is_counted boolean, plan gateway.turn_plan)
    returns gateway.limit_hit
    language plpgsql as $$
begin
    if counter.requests > (tier ->> 'requests_per_minute')::integer then
        return gateway.limit_until(
            'rate_limited', (tier ->> 'requests_per_minute')::integer, counter.window_started_at + interval '1 minute',
            plan.moment);
    elsif is_counted and counter.messages > (tier ->> 'messages_per_day')::integer then
        return gateway.limit_until(
            'quota_exhausted', (tier ->> 'messages_per_day')::integer, (plan.day + 1)::timestamp at time zone 'UTC', plan.moment);
    elsif (tier ->> 'concurrent_turns')::integer <= running then
        return ('too_many_turns', 2, tier ->> 'concurrent_turns', null, null)::gateway.limit_hit;
    elsif tier -> 'budgets' is not null then
        return gateway.budget_limit(uid, tier -> 'budgets', plan.reserve, plan.reserve_tokens, plan.day, plan.moment);
    end if;
    return null;
end $$;

-- The budget that users share and that is used up; NULL when none. `exhausted`: as in the request of gateway.begin_turn.
create function gateway.shared_limit(exhausted jsonb, persona_id uuid, tier text, plan gateway.turn_plan) returns gateway.limit_hit
    language plpgsql stable as $$
declare
    hit gateway.limit_hit := gateway.limit_until('budget_exhausted', null, (plan.day + 1)::timestamp at time zone 'UTC', plan.moment);
begin
    -- That of the tier last: another tier lifts it alone.
    hit.shared_budget := case
        when exhausted ? 'installation' then 'installation'
        when exhausted ? ('persona/' || $2) then 'persona'
        when exhausted ? ('tier/' || $3) then 'tier'
    end;
    if hit.shared_budget is null then
        return null;
    end if;
    return hit;
end $$;

-- Takes one model call from the allowance of a user in danger beyond the ordinary limits (CONTRACT §4); false when it is spent.
create function gateway.take_crisis_call(uid uuid, allowance jsonb, running integer) returns boolean
    language plpgsql as $$
begin
    if running >= (allowance ->> 'concurrent_turns')::integer then
        return false;
    end if;
    update public.rate_limits r set crisis_calls = r.crisis_calls + 1
    where r.user_id = uid and (allowance ->> 'model_calls_per_day' is null or r.crisis_calls < (allowance ->> 'model_calls_per_day')::integer);
    return found;
end $$;

-- The rejection of a request: reverts what was counted, and adds the rate limit, the tier and the profile's region.
create function gateway.refuse(
    uid uuid, hit gateway.limit_hit, safety_level integer, counted_requests integer, tier jsonb, person gateway.turn_user)
    returns jsonb
    language plpgsql as $$
declare
    counter constant public.rate_limits := gateway.uncount(uid, counted_requests, 1);
begin
    return gateway.rejection(hit.reason, hit.retry_after, hit.hit_limit, safety_level) || jsonb_build_object(
        'rate', gateway.rate_of(counter, (tier ->> 'requests_per_minute')::integer), 'tier', tier ->> 'name',
        'reset_at', ceil(extract(epoch from hit.resets_at))::bigint, 'shared_budget', hit.shared_budget,
        'country', person.country, 'locale', person.locale);
end $$;

-- Decides a turn that a limit or a missing consent keeps from a model: the rejection, or NULL, and then whether a model is called all the same. The
-- allowance of a user in danger lifts a limit, but no missing consent. When it is spent, only a message of acute danger is answered, by the fixed
-- text.
create function gateway.decide_limited_turn(
    uid uuid, request jsonb, hit gateway.limit_hit, acute boolean, exempt boolean, safety_level integer, tier jsonb, person gateway.turn_user,
    out rejection jsonb, out calls_model boolean)
    language plpgsql as $$
begin
    calls_model := false;
    if not person.consents @> (request -> 'consents') then
        if not acute then
            rejection := gateway.refuse(uid, ('consent_missing', null, null, null, null), safety_level, 0, tier, person) || jsonb_build_object(
                'consents', array(
                    select k.kind from jsonb_object_keys(request -> 'consents') as k (kind)
                    where not coalesce((person.consents ->> k.kind)::boolean, false) order by k.kind));
        end if;
    elsif not exempt then
        rejection := gateway.refuse(uid, hit, safety_level, 0, tier, person);
    else
        calls_model := gateway.take_crisis_call(uid, request #> '{limits,crisis}', cardinality(person.running_in));
        if not calls_model and not acute then
            rejection := gateway.refuse(uid, hit, safety_level, 0, tier, person);
        end if;
    end if;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.requested_plan(jsonb, timestamptz), gateway.turn_user(uuid, jsonb, text, timestamptz),
    gateway.rejection(text, integer, integer, integer), gateway.limit_until(text, integer, timestamptz, timestamptz),
    gateway.budget_limit(uuid, jsonb, numeric, bigint, date, timestamptz),
    gateway.ordinary_limit(uuid, public.rate_limits, jsonb, integer, boolean, gateway.turn_plan),
    gateway.shared_limit(jsonb, uuid, text, gateway.turn_plan), gateway.take_crisis_call(uuid, jsonb, integer),
    gateway.refuse(uuid, gateway.limit_hit, integer, integer, jsonb, gateway.turn_user),
    gateway.decide_limited_turn(uuid, jsonb, gateway.limit_hit, boolean, boolean, integer, jsonb, gateway.turn_user)
    to coach_gateway;
