-- What operators read and do. The gateway's role has no wider policies for it: functions with their owner's rights look at the role in the claims
-- and return aggregates, or change one thing and log it. Not exposed by PostgREST; EXECUTE for coach_gateway alone.

create schema operator;
revoke all on schema operator from public;
grant usage on schema operator to coach_gateway;

-- The first statement of every function of this schema. Raises insufficient_privilege unless the claims are an operator's who is not suspended.
create function operator.require_operator() returns void
    language plpgsql stable security definer set search_path = '' as $$
begin
    if gateway.claimed_role() <> 'operator' or gateway.user_id() is null
        or (current_setting('request.jwt.claims')::jsonb ->> 'sub')::uuid is distinct from gateway.user_id()
        or exists (select from public.users u where u.id = gateway.user_id() and u.suspended_at is not null)
    then
        raise exception 'only operators may do this' using errcode = 'insufficient_privilege';
    end if;
end $$;

-- Tokens and cost by group, of calls on days (UTC) from `first_day` to `last_day`, both included.
--
-- group_by: of day, model, provider, domain, persona, user, tier; columns of other groups are NULL. grain: hour, day or week (from Monday), the
-- length of `bucket` when grouped by day. An hour is that of the booking; days and weeks are the ledger's. Only calls with a receipt count;
-- corrections count in the call they correct. A cost is the sum of the priced calls, NULL when there is none; unpriced_turns is the number of turns
-- missing from it. Turns of removed users have no user_id.
create function operator.costs(first_day date, last_day date, group_by text[], grain text default 'day')
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost_usd numeric, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = ''
    -- Only the partitions of these days are read.
    set plan_cache_mode = force_custom_plan as $$
begin
    perform operator.require_operator();
    if not group_by <@ array['day', 'model', 'provider', 'domain', 'persona', 'user', 'tier'] or grain not in ('hour', 'day', 'week') then
        raise exception 'unknown group or grain' using errcode = 'invalid_parameter_value';
    end if;
    return query
        select
            case when 'day' = any (group_by) then case grain
                when 'hour' then date_trunc('hour', c.booked_at, 'UTC')
                when 'week' then date_trunc('week', c.day::timestamp at time zone 'UTC', 'UTC')
                else c.day::timestamp at time zone 'UTC' end end,
            case when 'model' = any (group_by) then c.model end,
            case when 'provider' = any (group_by) then c.provider end,
            case when 'domain' = any (group_by) then c.domain end,
            case when 'persona' = any (group_by) then c.persona_id end,
            case when 'user' = any (group_by) then u.id end,
            case when 'tier' = any (group_by) then c.tier end,
            count(distinct c.turn_id),
            sum(c.input_tokens)::bigint, sum(c.cached_input_tokens)::bigint, sum(c.output_tokens)::bigint,
            sum(c.cost_usd), count(distinct c.turn_id) filter (where c.unpriced > 0)
        from (
            select l.account_id, l.day, l.turn_id, l.persona_id, l.tier, min(l.booked_at) filter (where l.revision > 0) as booked_at,
                (array_agg(l.domain order by l.revision desc))[1] as domain,
                (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1] as provider,
                (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1] as model,
                sum(l.input_tokens) as input_tokens, sum(l.cached_input_tokens) as cached_input_tokens,
                sum(l.output_tokens) as output_tokens, sum(l.cost_usd) as cost_usd, sum(l.unpriced) as unpriced
            from public.usage_logs l
            where l.day between first_day and last_day
            group by l.account_id, l.day, l.turn_id, l.attempt, l.call, l.persona_id, l.tier
            having max(l.revision) > 0) c
        left join public.users u on 'user' = any (group_by) and u.account_id = c.account_id
        group by 1, 2, 3, 4, 5, 6, 7
        order by 1, 2, 3, 4, 5, 6, 7;
end $$;

-- An account as operators see it; no row when there is no such user. Nothing that the user wrote.
create function operator.user_status(user_id uuid)
    returns table (
        created_at timestamptz, suspended_at timestamptz, suspended_reason text, entitlements text[], access_until timestamptz,
        last_turn_at timestamptz, running_turns bigint, messages_today integer, spent_today_usd numeric, unpriced_turns_today integer)
    language plpgsql stable security definer set search_path = '' as $$
declare
    today constant date := now() at time zone 'UTC';
begin
    perform operator.require_operator();
    return query
        select u.created_at, u.suspended_at, u.suspended_reason, e.names, e.until,
            (select max(c.last_message_at) from public.conversations c where c.user_id = $1),
            (select count(*) from gateway.running_turns r where r.user_id = $1),
            case when r.day = today then r.messages else 0 end,
            coalesce(b.spent_usd, 0), coalesce(b.unpriced_turns, 0)
        from public.users u
        cross join lateral (
            select coalesce(array_agg(distinct n.entitlement order by n.entitlement), '{}') as names, max(n.access_until) as until
            from gateway.user_entitlements n where n.user_id = u.id and n.access_until > now()) e
        left join public.rate_limits r on r.user_id = u.id
        left join public.budgets b on b.user_id = u.id and b.day = today
        where u.id = $1;
end $$;

-- Suspends a user: new requests are refused, running turns go on. False when there is no such user; a user who is suspended already keeps the
-- first reason, and nothing is logged.
create function operator.suspend_user(user_id uuid, reason text, request_id text) returns boolean
    language plpgsql security definer set search_path = '' as $$
declare
    account uuid;
begin
    perform operator.require_operator();
    if coalesce(btrim(reason), '') = '' or reason = 'removal' then
        raise exception 'a suspension has a reason' using errcode = 'invalid_parameter_value';
    end if;
    update public.users u set suspended_at = clock_timestamp(), suspended_reason = $2 where u.id = $1 and u.suspended_at is null
    returning u.account_id into account;
    if not found then
        return exists (select from public.users u where u.id = $1);
    end if;
    perform gateway.append_audit('user.suspend', 'account/' || account, null, null, $2, $3);
    return true;
end $$;

-- Ends a suspension. False when there is no such user, or they are being removed, which is final.
create function operator.unsuspend_user(user_id uuid, reason text, request_id text) returns boolean
    language plpgsql security definer set search_path = '' as $$
declare
    account uuid;
begin
    perform operator.require_operator();
    update public.users u set suspended_at = null, suspended_reason = null
    where u.id = $1 and u.suspended_at is not null and u.suspended_reason is distinct from 'removal'
    returning u.account_id into account;
    if not found then
        return exists (select from public.users u where u.id = $1 and u.suspended_at is null);
    end if;
    perform gateway.append_audit('user.unsuspend', 'account/' || account, null, null, $2, $3);
    return true;
end $$;

-- Adds a version of a document and makes it the current one; returns its number, or NULL without effect when `expected_version` is not the current
-- one. A document that is not in the database is at version 1.
create function operator.put_document(
    kind text, id text, expected_version integer, body jsonb, reason text, request_id text, restores integer default null) returns integer
    language plpgsql security definer set search_path = '' as $$
declare
    next_version constant integer := expected_version + 1;
    change bigint;
begin
    perform operator.require_operator();
    -- Editors of one document wait for each other here, so that exactly one of them finds the version that all expect.
    perform pg_advisory_xact_lock(hashtextextended(format('gateway.documents %s/%s', kind, id), 0));
    if expected_version is distinct from
        coalesce((select d.current_version from gateway.documents d where d.kind = $1 and d.id = $2), 1)
    then
        return null;
    end if;
    insert into gateway.document_versions (kind, id, version, body, author, reason, restores, created_at)
    values ($1, $2, next_version, $4, gateway.user_id(), $5, $7, clock_timestamp());
    change := gateway.append_audit(
        case when restores is null then 'document.put' else 'document.rollback' end, format('%s/%s', kind, id), expected_version,
        next_version, $5, $6);
    insert into gateway.documents as d (kind, id, current_version, change) values ($1, $2, next_version, change)
    on conflict on constraint documents_pkey do update set current_version = excluded.current_version, change = excluded.change;
    return next_version;
end $$;

-- Makes an earlier version the current one again, as a new version with its body. Returns as put_document; raises no_data_found when the earlier
-- version does not exist.
create function operator.roll_back_document(
    kind text, id text, expected_version integer, restored_version integer, reason text, request_id text) returns integer
    language plpgsql security definer set search_path = '' as $$
declare
    restored gateway.document_versions;
begin
    perform operator.require_operator();
    select * into restored from gateway.document_versions v where v.kind = $1 and v.id = $2 and v.version = $4;
    if not found and restored_version is distinct from 1 then
        raise exception 'no such version' using errcode = 'no_data_found';
    end if;
    return operator.put_document($1, $2, $3, restored.body, $5, $6, $4);
end $$;

-- The audit log, newest first, of rows before a sequence (NULL: from the newest).
create function operator.audit_log(before bigint, at_most integer)
    returns setof gateway.audit_log
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query
        select a.* from gateway.audit_log a where before is null or a.sequence < before order by a.sequence desc limit least(at_most, 1000);
end $$;

revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on all functions in schema operator to coach_gateway;
revoke execute on function operator.require_operator() from coach_gateway;
grant execute on function gateway.verify_audit_log() to coach_gateway;
