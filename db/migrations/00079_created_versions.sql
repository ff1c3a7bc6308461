-- The answer to a creation has an ETag where the resource has one; a repeated request gets the same.
alter table gateway.idempotent_requests add column version bigint;

-- `completed` has `version`, too; the releases before do not read it.
create or replace function gateway.claim_idempotency_key(user_id uuid, key text, route text, body bytea) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    hash constant bytea := sha256(convert_to(route || E'\n', 'UTF8') || body);
    known gateway.idempotent_requests;
begin
    perform gateway.check_caller(user_id);
    insert into gateway.idempotent_requests as r (user_id, key, request_hash) values ($1, $2, hash)
    on conflict on constraint idempotent_requests_pkey do update
        set request_hash = excluded.request_hash, claimed_at = now(), status = null, data = null, version = null,
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
        else jsonb_build_object('outcome', 'completed', 'status', known.status, 'data', known.data, 'version', known.version)
    end;
end $$;

-- As gateway.complete_idempotency_key, which the releases before call.
create function gateway.complete_idempotency_key_2(user_id uuid, key text, status integer, data text, version bigint) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(user_id);
    update gateway.idempotent_requests r set status = $3, data = $4, version = $5 where r.user_id = $1 and r.key = $2 and r.status is null;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.complete_idempotency_key_2(uuid, text, integer, text, bigint) to coach_gateway;
