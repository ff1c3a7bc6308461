-- What operators read and do. The gateway's role has no wider policies for it: functions with their owner's rights look at the role in the claims
-- and return aggregates, or change one thing and log it. Those that return rows say why: what operators handle one by one (a user's state, reports, the audit
-- log, alerts), calls behind a figure without content, and messages on which a configuration is tried. Not exposed by PostgREST; EXECUTE for coach_gateway alone.

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
    -- Their sessions ended with the suspension; until now those who had them were told why.
    delete from gateway.operator_sessions s where s.user_id = $1;
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
