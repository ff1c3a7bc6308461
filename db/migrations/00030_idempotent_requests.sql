-- Idempotency keys of creations: the same request with the same key gets the same answer for a day. Turns have keys of their own.

create table gateway.idempotent_requests (
    user_id uuid not null references public.users (id) on delete cascade,
    key text not null check (octet_length(key) between 1 and 128),
    -- SHA-256 of route and body.
    request_hash bytea not null,
    -- The id of the resource, the same however often the request is executed.
    resource_id uuid not null default gen_random_uuid(),
    claimed_at timestamptz not null default now(),
    -- The answer; both null while the request is executed.
    status integer,
    data text,
    primary key (user_id, key)
);
create index idempotent_requests_age on gateway.idempotent_requests (claimed_at);

-- Claims a key for a request of the user in `request.jwt.claims`:
--   {outcome: claimed, resource_id}       the caller executes the request
--   {outcome: completed, status, data}    it was executed
--   {outcome: in_progress}                it is being executed
--   {outcome: conflict}                   the key belongs to another request
-- A claim without an answer expires after a minute, an answer after a day.
create function gateway.claim_idempotency_key(user_id uuid, key text, route text, body bytea) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    hash constant bytea := sha256(convert_to(route || E'\n', 'UTF8') || body);
    known gateway.idempotent_requests;
begin
    perform gateway.check_caller(user_id);
    insert into gateway.idempotent_requests as r (user_id, key, request_hash) values ($1, $2, hash)
    on conflict on constraint idempotent_requests_pkey do update
        set request_hash = excluded.request_hash, claimed_at = now(), status = null, data = null,
            -- Executed again because its process crashed: what it has created is found by its id.
            resource_id = case when r.status is null and r.request_hash = excluded.request_hash then r.resource_id else excluded.resource_id end
        where r.claimed_at < now() - interval '1 day'
            or (r.status is null and r.request_hash = excluded.request_hash and r.claimed_at < now() - interval '1 minute')
    returning * into known;
    if found then
        return jsonb_build_object('outcome', 'claimed', 'resource_id', known.resource_id);
    end if;
    select * into strict known from gateway.idempotent_requests r where r.user_id = $1 and r.key = $2;
    return case
        when known.request_hash <> hash then jsonb_build_object('outcome', 'conflict')
        when known.status is null then jsonb_build_object('outcome', 'in_progress')
        else jsonb_build_object('outcome', 'completed', 'status', known.status, 'data', known.data)
    end;
end $$;

-- Saves the answer of a claimed request.
create function gateway.complete_idempotency_key(user_id uuid, key text, status integer, data text) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(user_id);
    update gateway.idempotent_requests r set status = $3, data = $4 where r.user_id = $1 and r.key = $2 and r.status is null;
end $$;

-- Gives a key back after an error. `created_nothing` false: whether the resource exists is not known, so the same request can claim the key again
-- at once and gets the same id, and another request cannot.
create function gateway.release_idempotency_key(user_id uuid, key text, created_nothing boolean) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(user_id);
    if created_nothing then
        delete from gateway.idempotent_requests r where r.user_id = $1 and r.key = $2 and r.status is null;
    else
        -- As if its process had crashed a minute ago.
        update gateway.idempotent_requests r set claimed_at = now() - interval '61 seconds'
        where r.user_id = $1 and r.key = $2 and r.status is null;
    end if;
end $$;

-- Removes at most so many expired keys of all users; returns how many.
create function gateway.purge_idempotency_keys(at_most integer) returns integer
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    purged integer;
begin
    delete from gateway.idempotent_requests r
    where (r.user_id, r.key) in (
        select e.user_id, e.key from gateway.idempotent_requests e
        where e.claimed_at < now() - interval '1 day' order by e.claimed_at limit at_most for update skip locked);
    get diagnostics purged = row_count;
    return purged;
end $$;

revoke all on gateway.idempotent_requests from anon, authenticated, coach_gateway;
alter table gateway.idempotent_requests enable row level security;
grant select, insert, update, delete on gateway.idempotent_requests to coach_gateway;
create policy idempotent_requests_gateway on gateway.idempotent_requests to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
-- Expired keys are removed without claims. `for update` needs a policy for updates, too.
create policy idempotent_requests_expired on gateway.idempotent_requests to coach_gateway
    using (gateway.is_unbound() and claimed_at < now() - interval '1 day') with check (false);

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.claim_idempotency_key(uuid, text, text, bytea), gateway.complete_idempotency_key(uuid, text, integer, text),
    gateway.release_idempotency_key(uuid, text, boolean), gateway.purge_idempotency_keys(integer)
    to coach_gateway;
