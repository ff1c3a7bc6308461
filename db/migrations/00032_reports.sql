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

create trigger quota before insert on public.reports for each row execute function gateway.limit_rows('1000');

revoke all on public.reports from anon, authenticated, coach_gateway;
alter table public.reports enable row level security;
grant select, insert (user_id, id, persona_id, message_id, reason, comment) on public.reports to authenticated;
create policy reports_owner_select on public.reports for select to authenticated using (user_id = (select auth.uid()));
create policy reports_owner_insert on public.reports for insert to authenticated
    with check (
        user_id = (select auth.uid())
        -- Also of a persona that is published no more, by users whose conversations have it.
        and (persona_id is null or exists (select from public.published_personas p where p.id = reports.persona_id)
            or exists (
                select from public.conversations c where c.user_id = (select auth.uid()) and c.persona_id = reports.persona_id))
        and (message_id is null or exists (
            select from public.messages m where m.user_id = (select auth.uid()) and m.id = message_id and m.role = 'assistant')));
create policy reports_insert_not_suspended on public.reports as restrictive for insert to authenticated
    with check (exists (select from public.users u where u.id = (select auth.uid()) and u.suspended_at is null));

-- Reports by users, newest first, after one of them. Rows, not aggregates: operators decide each report by itself, by its comment, which its user wrote for
-- them. Nothing of what is reported.
create function operator.reports(before_time timestamptz, before_id uuid, at_most integer)
    returns table (
        id uuid, created_at timestamptz, user_id uuid, persona_id uuid, message_id uuid, reason public.report_reason, comment text)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query
        select r.id, r.created_at, r.user_id, r.persona_id, r.message_id, r.reason, r.comment from public.reports r
        where before_time is null or (r.created_at, r.id) < (before_time, before_id)
        order by r.created_at desc, r.id desc limit least(at_most, 1000);
end $$;
create index idx_reports_created_at on public.reports (created_at desc, id desc);

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function
    operator.reports(timestamptz, uuid, integer)
    to coach_gateway;
