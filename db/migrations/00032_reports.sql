-- Reports by users: of a persona, or of an answer that they got.

create type public.report_reason as enum ('harmful', 'inaccurate', 'offensive', 'privacy', 'impersonation', 'other');

create table public.reports (
    user_id uuid not null default auth.uid() references public.users (id) on delete cascade,
    id uuid not null default gen_random_uuid(),
    persona_id uuid,
    message_id uuid,
    reason public.report_reason not null,
    comment text check (char_length(comment) <= 2000),
    created_at timestamptz not null default now(),
    primary key (user_id, id),
    check (num_nonnulls(persona_id, message_id) = 1)
);

revoke all on public.reports from anon, authenticated, coach_gateway;
alter table public.reports enable row level security;
grant select, insert (user_id, id, persona_id, message_id, reason, comment) on public.reports to authenticated;
create policy reports_owner_select on public.reports for select to authenticated using (user_id = (select auth.uid()));
create policy reports_owner_insert on public.reports for insert to authenticated
    with check (
        user_id = (select auth.uid())
        and (persona_id is null or exists (select from public.published_personas p where p.id = persona_id))
        and (message_id is null or exists (
            select from public.messages m where m.user_id = (select auth.uid()) and m.id = message_id and m.role = 'assistant')));
create policy reports_insert_not_suspended on public.reports as restrictive for insert to authenticated
    with check (exists (select from public.users u where u.id = (select auth.uid()) and u.suspended_at is null));
