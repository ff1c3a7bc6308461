-- Sessions of operators in a browser. The browser keeps a random secret of 32 bytes and the user it belongs to, the database a keyed hash of the
-- secret, so that any instance knows the session and a copy of the table opens none. Every function has its owner's rights: no role reads the table.

create table gateway.operator_sessions (
    user_id uuid not null references public.users (id) on delete cascade,
    secret_hash bytea not null,
    -- The `exp` of the token that opened it.
    expires_at timestamptz not null,
    primary key (user_id, secret_hash)
);

create table gateway.session_key (
    key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
    only_row boolean primary key default true check (only_row)
);
insert into gateway.session_key default values;

-- HMAC (RFC 2104) matters where a text can be made longer; a secret has one length.
create function gateway.session_hash(secret bytea) returns bytea
    language plpgsql stable set search_path = '' as $$
begin
    if octet_length(secret) <> 32 then
        raise exception 'a secret has 32 bytes' using errcode = 'invalid_parameter_value';
    end if;
    return (select sha256(k.key || $1) from gateway.session_key k);
end $$;

-- Opens a session of the operator in the claims, and forgets their expired ones. Raises insufficient_privilege for others.
create function gateway.open_operator_session(user_id uuid, secret bytea, expires_at timestamptz) returns void
    language plpgsql security definer set search_path = '' as $$
begin
    perform gateway.check_caller(user_id);
    if gateway.claimed_role() <> 'operator' then
        raise exception 'only operators have sessions' using errcode = 'insufficient_privilege';
    end if;
    delete from gateway.operator_sessions s where s.user_id = $1 and s.expires_at <= now();
    insert into gateway.operator_sessions values ($1, gateway.session_hash($2), $3);
end $$;

-- When the user's session ends; NULL when there is none, or it has ended.
create function gateway.operator_session(user_id uuid, secret bytea) returns timestamptz
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform gateway.check_caller(user_id);
    return (
        select s.expires_at from gateway.operator_sessions s
        where s.user_id = $1 and s.secret_hash = gateway.session_hash($2) and s.expires_at > now());
end $$;

-- Ends the user's session; without effect when there is none.
create function gateway.close_operator_session(user_id uuid, secret bytea) returns void
    language plpgsql security definer set search_path = '' as $$
begin
    perform gateway.check_caller(user_id);
    delete from gateway.operator_sessions s where s.user_id = $1 and s.secret_hash = gateway.session_hash($2);
end $$;

revoke all on gateway.operator_sessions, gateway.session_key from anon, authenticated, coach_gateway;
alter table gateway.operator_sessions enable row level security;
alter table gateway.session_key enable row level security;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.open_operator_session(uuid, bytea, timestamptz), gateway.operator_session(uuid, bytea),
    gateway.close_operator_session(uuid, bytea)
    to coach_gateway;
