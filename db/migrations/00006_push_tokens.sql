-- Devices for push notifications; users register and remove their own.

create table public.push_tokens (
    user_id uuid not null default auth.uid() references public.users (id) on delete cascade,
    token text not null check (char_length(token) between 1 and 400),
    platform text not null default 'ios' check (platform in ('ios', 'macos', 'android', 'web')),
    environment text not null default 'production' check (environment in ('production', 'sandbox')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (user_id, token)
);

-- A device belongs to the user who registered it last; this table decides. It is keyed by the token, so no key of a user's table crosses users, and
-- registering another user's device leaves that user's rows unchanged.
create table gateway.push_token_owners (
    token_hash bytea primary key,
    user_id uuid not null,
    claimed_at timestamptz not null default now()
);

-- With its owner's rights: users do not write the directory themselves.
create function gateway.claim_push_token() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('push tokens ' || new.user_id, 0));
    -- Tokens that another user has claimed since, and the oldest beyond 20 devices.
    delete from public.push_tokens p
    where p.user_id = new.user_id and p.token <> new.token
        and p.token not in (
            select mine.token
            from public.push_tokens mine
            join gateway.push_token_owners o on o.token_hash = sha256(convert_to(mine.token, 'UTF8')) and o.user_id = mine.user_id
            where mine.user_id = new.user_id and mine.token <> new.token
            order by o.claimed_at desc, mine.token limit 19);
    insert into gateway.push_token_owners as o (token_hash, user_id) values (sha256(convert_to(new.token, 'UTF8')), new.user_id)
    on conflict (token_hash) do update set user_id = excluded.user_id, claimed_at = excluded.claimed_at;
    return new;
end $$;

create function gateway.release_push_token() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    delete from gateway.push_token_owners o
    where o.token_hash = sha256(convert_to(old.token, 'UTF8')) and o.user_id = old.user_id;
    return null;
end $$;

create trigger claim before insert or update on public.push_tokens for each row execute function gateway.claim_push_token();
create trigger release after delete on public.push_tokens for each row execute function gateway.release_push_token();
create trigger touch before update on public.push_tokens for each row execute function gateway.touch_updated_at();

revoke all on public.push_tokens, gateway.push_token_owners from anon, authenticated, coach_gateway;
alter table public.push_tokens enable row level security;
alter table gateway.push_token_owners enable row level security;
grant select, insert (user_id, token, platform, environment), update (platform, environment), delete
    on public.push_tokens to authenticated;
create policy push_tokens_owner on public.push_tokens to authenticated
    using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));

revoke all on all functions in schema gateway from public, anon, authenticated;
