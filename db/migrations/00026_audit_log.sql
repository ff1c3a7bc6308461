-- Each change by an operator or creator, with its author and time. Rows are only added, each in the transaction of its change. Each row has a
-- hash of itself and of the row before, so a row that is changed or removed later breaks the chain. An earlier (sequence, hash) that is kept
-- elsewhere also shows that the newest rows were removed, or that all were written anew.

create table gateway.audit_log (
    -- 1, 2, 3, … without gaps, in the order of commits.
    sequence bigint primary key,
    -- The sub of an operator's token; of others the account, which nothing links to them after their removal. NULL for a command that an
    -- administrator ran on a machine.
    actor_id uuid,
    -- operator, creator, user or system.
    actor_role text not null,
    -- What was done: `document.put`, `user.suspend`, …
    action text not null,
    -- What it was done to: `limits/default`, `account/<account_id>`, … Users are named by their account, which nothing links to them after their
    -- removal.
    target text not null,
    before_version integer,
    after_version integer,
    reason text,
    request_id text,
    created_at timestamptz not null,
    -- Empty for the first row.
    previous_hash bytea not null,
    -- gateway.audit_hash of this row.
    hash bytea not null
);

-- SHA-256 over the previous hash and the row's canonical text: a JSON object of its columns, its keys sorted as jsonb does it, times in UTC.
create function gateway.audit_hash(entry gateway.audit_log) returns bytea
    language plpgsql stable set search_path = '' as $$
begin
    return sha256(entry.previous_hash || convert_to(jsonb_build_object(
        'sequence', entry.sequence, 'actor_id', entry.actor_id, 'actor_role', entry.actor_role, 'action', entry.action,
        'target', entry.target, 'before_version', entry.before_version, 'after_version', entry.after_version, 'reason', entry.reason,
        'request_id', entry.request_id,
        'created_at', to_char(entry.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::text, 'UTF8'));
end $$;

-- Also keeps the tables' owner from changing a row by mistake.
create trigger append_only before update or delete or truncate on gateway.audit_log for each statement
    execute function gateway.refuse_update();

-- The role in the caller's token: operator or creator from app_metadata, as Identity reads it, otherwise `user`; `system` without claims.
create function gateway.claimed_role() returns text
    language plpgsql stable set search_path = '' as $$
declare
    claims constant jsonb := nullif(current_setting('request.jwt.claims', true), '');
    claimed constant text := claims #>> '{app_metadata,role}';
begin
    return case
        when claims is null then 'system'
        when claims ->> 'role' is distinct from 'authenticated' then 'none'
        when claimed in ('operator', 'creator') then claimed
        else 'user' end;
end $$;

-- Adds a row for the caller and returns its sequence. Writers wait for each other until their transactions end: call it last. With its owner's
-- rights: no role writes the table.
create function gateway.append_audit(
    action text, target text, before_version integer, after_version integer, reason text, request_id text) returns bigint
    language plpgsql security definer set search_path = '' as $$
declare
    entry gateway.audit_log;
begin
    perform pg_advisory_xact_lock(hashtextextended('gateway.audit_log', 0));
    select a.sequence, a.hash into entry.sequence, entry.previous_hash from gateway.audit_log a order by a.sequence desc limit 1;
    entry.sequence := coalesce(entry.sequence, 0) + 1;
    entry.previous_hash := coalesce(entry.previous_hash, '');
    entry.actor_role := gateway.claimed_role();
    entry.actor_id := case
        when entry.actor_role = 'operator' then gateway.user_id()
        else (select u.account_id from public.users u where u.id = gateway.user_id()) end;
    entry.action := $1;
    entry.target := $2;
    entry.before_version := $3;
    entry.after_version := $4;
    entry.reason := $5;
    entry.request_id := $6;
    entry.created_at := clock_timestamp();
    entry.hash := gateway.audit_hash(entry);
    insert into gateway.audit_log select entry.*;
    return entry.sequence;
end $$;

-- Checks the chain from its first row on: how many rows there are, the sequence of the first that does not fit (NULL: all fit), and the newest
-- hash, to be kept elsewhere.
create function gateway.verify_audit_log() returns table (entries bigint, broken_at bigint, head bytea)
    language plpgsql stable security definer set search_path = '' as $$
begin
    return query
        select count(*),
            min(a.sequence) filter (where a.sequence <> a.expected or a.previous_hash <> a.expected_hash or a.hash <> a.actual),
            (array_agg(a.hash order by a.sequence desc))[1]
        from (
            select l.sequence, l.previous_hash, l.hash, gateway.audit_hash(l) as actual,
                row_number() over (order by l.sequence) as expected,
                coalesce(lag(l.hash) over (order by l.sequence), '') as expected_hash
            from gateway.audit_log l) a;
end $$;

revoke all on gateway.audit_log from anon, authenticated, coach_gateway;
alter table gateway.audit_log enable row level security;

revoke all on all functions in schema gateway from public, anon, authenticated;
