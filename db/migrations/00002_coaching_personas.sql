-- Creators' personas. Other people meet a persona through the view of its public columns; how it is told to speak stays its maker's.

create table public.coaching_personas (
    -- The one key without user_id: everybody reads personas, so a distributed database replicates this table whole.
    id uuid primary key default gen_random_uuid(),
    -- The creator.
    user_id uuid not null default auth.uid() references public.users (id) on delete cascade,
    slug text unique check (slug ~ '^[a-z0-9][a-z0-9-]{1,62}$'),
    name text not null check (char_length(name) between 1 and 80),
    description text check (char_length(description) <= 500),
    -- A string of enum coaching_domain, or null: the persona follows the router.
    domain jsonb,
    -- Strings, lists or objects; gateway.prompt_text() makes one text of them.
    tone jsonb,
    methodology jsonb,
    personality jsonb,
    status text not null default 'draft' check (status in ('draft', 'published', 'unpublished')),
    version integer not null default 1,
    published_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz
);

create trigger touch before update on public.coaching_personas for each row execute function gateway.touch_updated_at();

-- The persona that speaks in a conversation from its first turn with one.
alter table public.conversations
    add column persona_id uuid references public.coaching_personas (id) on delete set null;

-- Runs with its owner's rights, which is its purpose: the base table's rows are their creator's alone.
create view public.published_personas with (security_barrier = true) as
    select id, slug, name, description, domain, version, published_at
    from public.coaching_personas
    where status = 'published' and deleted_at is null;
comment on view public.published_personas is 'What anybody who is signed in may know about a persona; never a prompt text.';
