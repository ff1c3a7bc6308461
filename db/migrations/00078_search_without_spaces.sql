-- Search finds a text however its accents are encoded (NFC or NFD), and words of Chinese and Japanese, which have no spaces between them: each of their
-- characters is indexed as a word, and several in a query are a phrase. Indexes that were made before are made anew by their users' next searches.

-- Han characters and kana, as a regular expression.
create function gateway.unspaced_letters() returns text
    language sql immutable
    return '[\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]';

-- What of a text is indexed.
create function gateway.searchable_text(content text) returns text
    language sql immutable
    return regexp_replace(normalize(content, nfc), gateway.unspaced_letters(), ' \& ', 'g');

-- The same of a query of websearch_to_tsquery, of which every second part is in quotes already.
create function gateway.searchable_query(query text) returns text
    language sql immutable
    return (
        select string_agg(
            gateway.searchable_text(
                case p.place % 2 when 0 then p.part else regexp_replace(p.part, gateway.unspaced_letters() || '+', '"\&"', 'g') end),
            '"' order by p.place)
        from string_to_table(query, '"') with ordinality as p (part, place));

-- As gateway.index_messages, which the releases before call, of searchable texts.
create function gateway.index_messages_2(user_id uuid, at_most integer, newest integer) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    wanted constant text := gateway.search_language((select u.locale from public.users u where u.id = $1));
    -- What the index was made by. An index made before, in the same language, counts as one of another language.
    index_form constant text := wanted || ' 2';
    progress gateway.search_progress;
    -- Read before the messages: a reader that sees a number sees all rows with lower ones.
    through constant bigint := coalesce((select n.last_change from public.change_counters n where n.user_id = $1), 0);
    found_rows integer;
    last_change bigint;
    last_id uuid;
begin
    perform gateway.check_caller(user_id);
    insert into gateway.search_progress as p (user_id, language, change, message_id)
    values ($1, index_form, -1, '00000000-0000-0000-0000-000000000000') on conflict on constraint search_progress_pkey do nothing;
    select * into strict progress from gateway.search_progress p where p.user_id = $1 for update;
    if progress.language <> index_form then
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
        select $1, c.id, to_tsvector(wanted::regconfig, gateway.searchable_text(c.content)) from changed c
        on conflict on constraint message_words_pkey do update set words = excluded.words
    )
    select count(*), (array_agg(c.change order by c.change desc, c.id desc))[1], (array_agg(c.id order by c.change desc, c.id desc))[1]
    into found_rows, last_change, last_id from changed c;
    if found_rows < at_most then
        last_change := greatest(last_change, through);
        last_id := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    end if;
    update gateway.search_progress p set language = index_form, change = last_change, message_id = last_id where p.user_id = $1;
    if found_rows = at_most then
        insert into public.message_words as w (user_id, message_id, words)
        select $1, m.id, to_tsvector(wanted::regconfig, gateway.searchable_text(m.content)) from (
            select n.id, n.content from public.messages n
            where n.user_id = $1 and (n.change, n.id) > (last_change, last_id)
            order by n.change desc, n.id desc limit newest) m
        on conflict on constraint message_words_pkey do update set words = excluded.words;
    end if;
    return found_rows = at_most;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.unspaced_letters(), gateway.searchable_text(text), gateway.searchable_query(text), gateway.index_messages_2(uuid, integer, integer)
    to coach_gateway;
