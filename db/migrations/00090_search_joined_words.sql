-- Search finds words that stand together without a space: "work/life" and "tired.But" were one word each, `<stressed>` none, and an address with "https://"
-- was not found by itself. In a query such words are a phrase. And PostgreSQL's parser takes quadratic time for a text without a space, such as "a_a_a_…":
-- 1.3 s for 8,000 characters, 20 s for an answer of 64 KiB. Gateways of the release before index and search by the same functions, so that the bodies of
-- these are replaced; all indexes are made anew by their users' next searches.

-- Nobody indexes meanwhile by the functions before: their rows would count as those of the functions below.
lock table gateway.search_progress in exclusive mode;

-- The form of a text that is indexed. A full stop parts words after two letters, so that "U.S." and "e.g." stay what they are. A letter is what is neither
-- space, digit nor punctuation, because in the locale C the class of letters is ASCII.
create or replace function gateway.searchable_text(content text) returns text
    language sql immutable
    return regexp_replace(
        regexp_replace(
            regexp_replace(normalize(content, nfc), '([^[:space:][:digit:][:punct:]]{2})\.(?=[^[:space:][:digit:][:punct:]])', '\1 . ', 'g'),
            gateway.unspaced_letters() || '|[/<>]', ' \& ', 'g'),
        '[^[:space:]]{200}', '\& ', 'g');

-- The same of a query of websearch_to_tsquery, of which every second part is in quotes already. A minus stays before the word that it excludes.
create or replace function gateway.searchable_query(query text) returns text
    language sql immutable
    return (
        select string_agg(
            gateway.searchable_text(
                case p.place % 2
                    when 0 then p.part
                    else regexp_replace(
                        regexp_replace(p.part, '(^|[[:space:]])-[/<>]+', '\1-', 'g'),
                        '[^[:space:][:punct:]][^[:space:]]*[/<>.][^[:space:]]*[^[:space:][:punct:]]|' || gateway.unspaced_letters() || '+',
                        '"\&"', 'g')
                end),
            '"' order by p.place)
        from string_to_table(query, '"') with ordinality as p (part, place));

update gateway.search_progress set change = -1;
