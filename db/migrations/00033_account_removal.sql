-- Removing one's own account takes two requests: the first gets a token, which the second gives back. It is used up with it, so a request that is
-- repeated later removes nothing.

create table gateway.removal_confirmations (
    user_id uuid primary key references public.users (id) on delete cascade,
    token_hash bytea not null,
    expires_at timestamptz not null
);

-- Returns a token that is valid for ten minutes, and instead of an earlier one.
create function gateway.prepare_removal(user_id uuid) returns text
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    token constant text := encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'hex');
begin
    perform gateway.check_caller(user_id);
    insert into gateway.removal_confirmations as r (user_id, token_hash, expires_at)
    values ($1, sha256(convert_to(token, 'UTF8')), now() + interval '10 minutes')
    on conflict on constraint removal_confirmations_pkey do update set token_hash = excluded.token_hash, expires_at = excluded.expires_at;
    return token;
end $$;

-- Removes the user as gateway.request_removal does. False, without effect, when the token is not the latest one, used, or expired.
create function gateway.confirm_removal(user_id uuid, token text) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(user_id);
    delete from gateway.removal_confirmations r
    where r.user_id = $1 and r.token_hash = sha256(convert_to(token, 'UTF8')) and r.expires_at > now();
    if not found then
        return false;
    end if;
    perform gateway.request_removal(user_id);
    return true;
end $$;

revoke all on gateway.removal_confirmations from anon, authenticated, coach_gateway;
alter table gateway.removal_confirmations enable row level security;
grant select, insert, update, delete on gateway.removal_confirmations to coach_gateway;
create policy removal_confirmations_gateway on gateway.removal_confirmations to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.prepare_removal(uuid), gateway.confirm_removal(uuid, text) to coach_gateway;
