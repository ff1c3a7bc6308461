-- Roles, the shape of Supabase's `auth`, and the tables of a conversation.
--
-- Three rules hold in every migration:
--   * it also applies to a Supabase project: what exists there already is used, not replaced;
--   * every key begins with user_id, so the tables can be distributed by it;
--   * Supabase grants everything on new tables to its API roles, so each table revokes first and grants what is meant.

-- Roles ---------------------------------------------------------------------------------------------------------------
-- Roles belong to the cluster, so another database may be creating them at this very moment: that is not an error.
do $$
declare
    wanted record;
begin
    for wanted in
        select * from (values
            ('anon', 'nologin noinherit'),
            ('authenticated', 'nologin noinherit'),
            ('coach_gateway', 'login noinherit')) as roles (name, attributes)
    loop
        if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
            begin
                execute format('create role %I %s', wanted.name, wanted.attributes);
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;

    -- Lets the gateway act as a user: set_config('role', 'authenticated', true).
    if not pg_has_role('coach_gateway', 'authenticated', 'member') then
        begin
            grant authenticated to coach_gateway;
        exception when unique_violation then
            null;
        end;
    end if;
end $$;

-- What Supabase has -----------------------------------------------------------------------------------------------------
create schema if not exists auth;

-- Claims are '' and not NULL after a transaction that had set them, hence nullif.
do $$
begin
    if to_regprocedure('auth.uid()') is null then
        create function auth.uid() returns uuid language sql stable as $f$
            select coalesce(
                nullif(current_setting('request.jwt.claim.sub', true), ''),
                (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'))::uuid $f$;
        grant usage on schema auth to anon, authenticated, coach_gateway;
    end if;
    if to_regprocedure('auth.role()') is null then
        create function auth.role() returns text language sql stable as $f$
            select coalesce(
                nullif(current_setting('request.jwt.claim.role', true), ''),
                (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'))::text $f$;
    end if;
    if to_regprocedure('auth.email()') is null then
        create function auth.email() returns text language sql stable as $f$
            select coalesce(
                nullif(current_setting('request.jwt.claim.email', true), ''),
                (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'))::text $f$;
    end if;
    if to_regprocedure('auth.jwt()') is null then
        create function auth.jwt() returns jsonb language sql stable as $f$
            select coalesce(
                nullif(current_setting('request.jwt.claim', true), ''),
                nullif(current_setting('request.jwt.claims', true), ''))::jsonb $f$;
    end if;
end $$;

grant usage on schema public to anon, authenticated, coach_gateway;

-- The gateway's own schema: not exposed by PostgREST, no function in it is open to users ----------------------------------
create schema if not exists gateway;
revoke all on schema gateway from public;
grant usage on schema gateway to coach_gateway;

create table gateway.schema_migrations (
    version text primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
);
comment on table gateway.schema_migrations is 'Which files of db/migrations this database has, with the SHA-256 of each.';

-- The user that the gateway is bound to; it sets this beside the claims. Cheaper than auth.uid(), because policies call it for every row: it does
-- not parse the claims, so claims alone bind to no user.
create function gateway.user_id() returns uuid language sql stable
    return nullif(current_setting('request.jwt.claim.sub', true), '')::uuid;

-- Whether the gateway is bound to no user: no claims and no subject. With claims but without a subject it is neither bound nor unbound.
create function gateway.is_unbound() returns boolean language sql stable
    return coalesce(current_setting('request.jwt.claims', true), '') = '' and gateway.user_id() is null;

create function gateway.touch_updated_at() returns trigger language plpgsql set search_path = '' as $$
begin
    -- An update that changes nothing leaves the row as it was, under the same version.
    if new is distinct from old then
        new.updated_at := now();
    end if;
    return new;
end $$;

-- Tables ----------------------------------------------------------------------------------------------------------------
create type public.coaching_domain as enum (
    'life_coaching', 'career_coaching', 'relationships', 'mindset', 'creativity', 'fitness', 'leadership');

-- Enums and domains instead of CHECK constraints where possible: each statement that writes to a table parses its CHECKs again.
-- preview: a creator's trial of a draft; hidden, and removed minutes after its end.
create type public.conversation_source as enum ('app', 'openai', 'preview');
create type public.message_role as enum ('user', 'assistant');
-- `failed`: a user's message without an answer. `superseded`: an answer that was replaced.
create type public.message_status as enum ('complete', 'stopped', 'interrupted', 'failed', 'superseded');
-- Which instance finished a turn: its owner, or another one in recovery.
create type public.finalizer as enum ('owner', 'recovery');

create table public.users (
    id uuid primary key default auth.uid(),
    display_name text check (char_length(display_name) <= 100),
    -- BCP 47 and ISO 3166-1: the language of answers, the region of crisis resources.
    locale text check (char_length(locale) <= 35),
    country text check (country ~ '^[A-Z]{2}$'),
    -- IANA.
    time_zone text check (char_length(time_zone) <= 64),
    is_minor boolean,
    -- The latest decision of each kind in public.consents, for begin_turn: {memory: false, …}. Written with it.
    consents jsonb not null default '{}',
    -- Identifies the user in the ledger. Only this row links both, so after its removal the ledger is anonymous.
    account_id uuid not null default gen_random_uuid(),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
comment on table public.users is 'One row a user, created at the first request; id is the token''s sub.';

do $$
begin
    if to_regclass('auth.users') is not null then
        alter table public.users add constraint users_id_fkey foreign key (id) references auth.users (id) on delete cascade;
    end if;
end $$;

create table public.context_profiles (
    user_id uuid primary key default auth.uid() references public.users (id) on delete cascade,
    -- Arrays of statements: strings, or objects with a `text`. All of it enters every prompt, hence the limit.
    values jsonb not null default '[]' check (jsonb_typeof(values) = 'array' and octet_length(values::text) <= 16000),
    goals jsonb not null default '[]' check (jsonb_typeof(goals) = 'array' and octet_length(goals::text) <= 16000),
    situation jsonb not null default '[]' check (jsonb_typeof(situation) = 'array' and octet_length(situation::text) <= 16000),
    -- Counted by a trigger, never by the client: see gateway.version_profile.
    version integer not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
comment on table public.context_profiles is 'What a user told the coach about themselves; part of every prompt.';

create table public.conversations (
    user_id uuid not null default auth.uid() references public.users (id) on delete cascade,
    id uuid not null default gen_random_uuid(),
    title varchar(200),
    domain public.coaching_domain,
    -- The persona of its turns from the first one with a persona on, and the version published then. NULL before that turn.
    persona_id uuid,
    persona_version integer,
    source public.conversation_source not null default 'app',
    -- Removed a day after its last message, and never summarised.
    ephemeral boolean not null default false,
    -- Rolling summary of the messages up to summarised_through_seq.
    summary text,
    summarised_through_seq integer not null default 0,
    -- seq of the newest message: a turn has two, odd for the user's message, even for the answer.
    last_seq integer not null default 0,
    -- When its owner last wrote; orders the list. An answer changes only updated_at, which is in no index.
    last_message_at timestamptz not null default now(),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    -- When its content was removed: see gateway.purge_content.
    purged_at timestamptz,
    primary key (user_id, id)
) with (fillfactor = 85);

-- Limits the rows of a table that one user may have, also behind PostgREST. Arguments: the limit, and which rows count; all when it is left out.
-- Deleted rows count unless the argument leaves them out. The lock makes the count exact. A row whose id is known passes: the table's key decides about it. The statement is planned at
-- each insertion, which takes 0.15 ms; rows that turns insert are not counted here.
create function gateway.limit_rows() returns trigger
    language plpgsql set search_path = '' as $$
declare
    existing bigint;
    is_known boolean;
begin
    perform pg_advisory_xact_lock(hashtextextended(format('%s %s', tg_table_name, new.user_id), 0));
    execute format(
        'select (select count(*) from %1$I.%2$I r where r.user_id = $1 and %3$s),
            exists (select from %1$I.%2$I r where r.user_id = $1 and r.id = $2)',
        tg_table_schema, tg_table_name, coalesce(tg_argv[1], 'true'))
    into existing, is_known using new.user_id, new.id;
    if existing >= tg_argv[0]::integer and not is_known then
        raise exception 'at most % rows of % a user', tg_argv[0], tg_table_name
            using errcode = 'check_violation', constraint = tg_table_name || '_quota';
    end if;
    return new;
end $$;

-- Conversations that begin with a message are limited with it.
create index idx_conversations_empty on public.conversations (user_id) where last_seq = 0;
create trigger quota before insert on public.conversations for each row when (new.last_seq = 0)
    execute function gateway.limit_rows('1000', 'r.last_seq = 0 and r.deleted_at is null');
-- A deleted one stays for clients that synchronise.
create trigger quota_of_all before insert on public.conversations for each row when (new.last_seq = 0)
    execute function gateway.limit_rows('10000', 'r.last_seq = 0');

create table public.messages (
    -- Removed with its conversation by gateway.remove_conversation.
    user_id uuid not null,
    id uuid not null default gen_random_uuid(),
    conversation_id uuid not null,
    turn_id uuid,
    -- Order within the conversation, independent of clocks. An answer that supersedes another has the same seq.
    seq integer not null,
    role public.message_role not null,
    content text not null,
    status public.message_status not null default 'complete',
    domain public.coaching_domain,
    -- The provider's count for answers, an estimate for users' messages.
    token_count bigint not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (user_id, id)
);
-- Long answers are compressed: with lz4, where the server has it, for a fraction of the CPU.
do $$ begin
    alter table public.messages alter content set compression lz4;
exception when feature_not_supported then null;
end $$;

create trigger touch before update on public.users for each row execute function gateway.touch_updated_at();
create trigger touch before update on public.context_profiles for each row execute function gateway.touch_updated_at();
