-- Entitlements and usage of a user. The limits of a tier are configuration and come with each request.

alter table public.users
    add column suspended_at timestamptz,
    add column suspended_reason text;

-- No row, or one that has expired: the default tier.
create table public.entitlements (
    user_id uuid primary key references public.users (id) on delete cascade,
    tier text not null,
    source text not null default 'grant',
    expires_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

-- One row per user, exact across all instances: counting locks it, which also serializes the beginnings of a user's turns.
create table public.rate_limits (
    user_id uuid primary key references public.users (id) on delete cascade,
    window_started_at timestamptz not null default 'epoch',
    requests integer not null default 0,
    -- UTC.
    day date not null default 'epoch',
    messages integer not null default 0,
    -- Model calls of the day beyond the ordinary limits, for a user in danger.
    crisis_calls integer not null default 0
) with (fillfactor = 50);

-- Cost of a user's turns of a day (UTC), and reserves of the running ones.
create table public.budgets (
    user_id uuid not null references public.users (id) on delete cascade,
    day date not null,
    spent_usd numeric(20, 9) not null default 0,
    reserved_usd numeric(20, 9) not null default 0,
    -- Turns whose cost is unknown, so that spent_usd is a lower bound.
    unpriced_turns integer not null default 0,
    primary key (user_id, day)
) with (fillfactor = 70);

revoke all on public.entitlements, public.rate_limits, public.budgets from anon, authenticated, coach_gateway;
alter table public.entitlements enable row level security;
alter table public.rate_limits enable row level security;
alter table public.budgets enable row level security;
grant select on public.entitlements, public.rate_limits, public.budgets to authenticated;
grant select on public.entitlements to coach_gateway;
grant select, insert, update on public.rate_limits, public.budgets to coach_gateway;

create policy entitlements_owner_select on public.entitlements for select to authenticated using (user_id = (select auth.uid()));
create policy entitlements_gateway_select on public.entitlements for select to coach_gateway using (user_id = gateway.user_id());
create policy rate_limits_owner_select on public.rate_limits for select to authenticated using (user_id = (select auth.uid()));
create policy rate_limits_gateway on public.rate_limits to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
create policy budgets_owner_select on public.budgets for select to authenticated using (user_id = (select auth.uid()));
create policy budgets_gateway on public.budgets to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
