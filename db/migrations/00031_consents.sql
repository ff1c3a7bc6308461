-- Decisions of users about what is done with what they write. Append-only.

-- ai_processing: messages go to a model provider. memory: profile, summaries and earlier conversations enter prompts. disclaimer: read that the
-- coach is no therapist.
create type public.consent_kind as enum ('ai_processing', 'memory', 'disclaimer');

create table public.consents (
    user_id uuid not null references public.users (id) on delete cascade,
    -- 1, 2, 3, … of the user.
    sequence integer not null,
    kind public.consent_kind not null,
    -- Of the text that the user saw.
    version text not null check (char_length(version) between 1 and 64),
    granted boolean not null,
    decided_at timestamptz not null default now(),
    primary key (user_id, sequence)
);

-- Records a decision. One that repeats the latest of its kind adds no row. At most 1,000 of a user; a refusal of what was not refused passes beyond
-- that, because consent can be withdrawn at any time (GDPR Art. 7(3)).
create function gateway.record_consent(user_id uuid, kind public.consent_kind, version text, granted boolean) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    latest public.consents;
    -- Sequences have no gaps, so the last one is their count.
    count integer;
begin
    perform gateway.check_caller(user_id);
    -- Locks the row, so that sequences have no gaps.
    update public.users u set consents = u.consents || jsonb_build_object(kind::text, granted) where u.id = $1;
    select * into latest from public.consents c where c.user_id = $1 and c.kind = $2 order by c.sequence desc limit 1;
    if not found or (latest.version, latest.granted) is distinct from ($3, $4) then
        select coalesce(max(c.sequence), 0) into count from public.consents c where c.user_id = $1;
        if count >= 1000 and ($4 or not coalesce(latest.granted, true)) then
            raise exception 'at most 1000 consents of a user' using errcode = 'check_violation', constraint = 'consents_quota';
        end if;
        insert into public.consents (user_id, sequence, kind, version, granted) values ($1, count + 1, $2, $3, $4);
    end if;
end $$;

revoke all on public.consents from anon, authenticated, coach_gateway;
alter table public.consents enable row level security;
grant select on public.consents to authenticated;
grant select, insert on public.consents to coach_gateway;
create policy consents_owner_select on public.consents for select to authenticated using (user_id = (select auth.uid()));
create policy consents_gateway on public.consents to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.record_consent(uuid, public.consent_kind, text, boolean) to coach_gateway;
