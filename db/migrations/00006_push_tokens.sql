-- Devices that may be notified; a user registers and removes his own.

create table public.push_tokens (
    user_id uuid not null default auth.uid() references public.users (id) on delete cascade,
    token text not null check (char_length(token) between 1 and 400),
    platform text not null default 'ios' check (platform in ('ios', 'macos', 'android', 'web')),
    environment text not null default 'production' check (environment in ('production', 'sandbox')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (user_id, token)
);

create trigger touch before update on public.push_tokens for each row execute function gateway.touch_updated_at();

revoke all on public.push_tokens from anon, authenticated, coach_gateway;
alter table public.push_tokens enable row level security;
grant select, insert (user_id, token, platform, environment), update (platform, environment), delete
    on public.push_tokens to authenticated;
create policy push_tokens_owner on public.push_tokens to authenticated
    using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));
