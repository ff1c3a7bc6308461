-- Search over a user's own messages, by PostgreSQL's full text in the user's language. Beside the messages, so that turns write no index: words are
-- added by a job, which a search enqueues when messages have changed since; the search itself adds only the few newest.

-- A search reads all vectors of its user by the primary key: 2,000 in 23 ms, of which half matched. A GIN index would list the messages of all users
-- at each word, to be intersected with the user's, and write these lists with every message.
create table public.message_words (
    user_id uuid not null references public.users (id) on delete cascade,
    message_id uuid not null,
    words tsvector not null,
    primary key (user_id, message_id)
);

-- How far a user's messages are in message_words: up to a place in the order of changes, in a language.
create table gateway.search_progress (
    user_id uuid primary key references public.users (id) on delete cascade,
    language text not null,
    change bigint not null,
    message_id uuid not null
);

-- PostgreSQL's configuration for a BCP 47 locale, or one with underscores as iOS writes it: all that PostgreSQL 15 has.
create function gateway.search_language(locale text) returns text
    language sql immutable
    return case lower(split_part(translate(locale, '_', '-'), '-', 1))
        when 'ar' then 'arabic' when 'ca' then 'catalan' when 'da' then 'danish' when 'de' then 'german' when 'el' then 'greek'
        when 'en' then 'english' when 'es' then 'spanish' when 'eu' then 'basque' when 'fi' then 'finnish' when 'fr' then 'french'
        when 'ga' then 'irish' when 'hi' then 'hindi' when 'hu' then 'hungarian' when 'hy' then 'armenian' when 'id' then 'indonesian'
        when 'it' then 'italian' when 'lt' then 'lithuanian' when 'nb' then 'norwegian' when 'ne' then 'nepali' when 'nl' then 'dutch'
        when 'nn' then 'norwegian' when 'no' then 'norwegian' when 'pt' then 'portuguese' when 'ro' then 'romanian'
        when 'ru' then 'russian' when 'sr' then 'serbian' when 'sv' then 'swedish' when 'ta' then 'tamil' when 'tr' then 'turkish'
        when 'yi' then 'yiddish' else 'simple' end;

-- Adds the words of at most `at_most` messages that changed since the last call, and when there may be more (true) also of so many newest ones. A new
-- locale begins anew.
create function gateway.index_messages(user_id uuid, at_most integer, newest integer) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    wanted constant text := gateway.search_language((select u.locale from public.users u where u.id = $1));
    progress gateway.search_progress;
    -- Read before the messages: a reader that sees a number sees all rows with lower ones.
    through constant bigint := coalesce((select n.last_change from public.change_counters n where n.user_id = $1), 0);
    found_rows integer;
    last_change bigint;
    last_id uuid;
begin
    perform gateway.check_caller(user_id);
    insert into gateway.search_progress as p (user_id, language, change, message_id)
    values ($1, wanted, -1, '00000000-0000-0000-0000-000000000000') on conflict on constraint search_progress_pkey do nothing;
    select * into strict progress from gateway.search_progress p where p.user_id = $1 for update;
    if progress.language <> wanted then
        progress.change := -1;
    end if;
    if progress.change >= through then
        return false;
    end if;
    with changed as materialized (
        select m.id, m.change, m.content from public.messages m
        where m.user_id = $1 and (m.change, m.id) > (progress.change, progress.message_id)
        order by m.change, m.id limit at_most
    ), added as (
        insert into public.message_words as w (user_id, message_id, words)
        select $1, c.id, to_tsvector(wanted::regconfig, c.content) from changed c
        on conflict on constraint message_words_pkey do update set words = excluded.words
    )
    select count(*), (array_agg(c.change order by c.change desc, c.id desc))[1], (array_agg(c.id order by c.change desc, c.id desc))[1]
    into found_rows, last_change, last_id from changed c;
    if found_rows < at_most then
        last_change := greatest(last_change, through);
        last_id := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    end if;
    update gateway.search_progress p set language = wanted, change = last_change, message_id = last_id where p.user_id = $1;
    if found_rows = at_most then
        insert into public.message_words as w (user_id, message_id, words)
        select $1, m.id, to_tsvector(wanted::regconfig, m.content) from (
            select n.id, n.content from public.messages n
            where n.user_id = $1 and (n.change, n.id) > (last_change, last_id)
            order by n.change desc, n.id desc limit newest) m
        on conflict on constraint message_words_pkey do update set words = excluded.words;
    end if;
    return found_rows = at_most;
end $$;

-- Enqueues the job that indexes what a search did not wait for.
create function gateway.request_indexing(user_id uuid) returns void
    language plpgsql set search_path = '' as $$
begin
    perform gateway.check_caller(user_id);
    if not exists (select from gateway.jobs j where j.user_id = $1 and j.kind = 'index_messages' and j.state = 'ready') then
        perform gateway.enqueue_job(user_id, 'index_messages');
    end if;
end $$;

-- The words of a removed message go with it. Row-local, with its owner's rights: no role removes messages.
create function gateway.remove_words() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    delete from public.message_words w where w.user_id = old.user_id and w.message_id = old.id;
    return null;
end $$;
create trigger remove_words after delete on public.messages for each row execute function gateway.remove_words();

revoke all on public.message_words, gateway.search_progress from anon, authenticated, coach_gateway;
alter table public.message_words enable row level security;
alter table gateway.search_progress enable row level security;
grant select on public.message_words to authenticated;
grant select, insert, update on public.message_words, gateway.search_progress to coach_gateway;
create policy message_words_owner_select on public.message_words for select to authenticated using (user_id = (select auth.uid()));
create policy message_words_gateway on public.message_words to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
create policy search_progress_gateway on gateway.search_progress to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.search_language(text), gateway.index_messages(uuid, integer, integer), gateway.request_indexing(uuid)
    to coach_gateway;
