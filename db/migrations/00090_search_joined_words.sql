-- Search finds words that stand together without a space: "work/life" and "tired.But" were one word each, `<stressed>` none, and an address with "https://"
-- was not found by itself. In a query such words are a phrase. Gateways of the release before index and search by the same functions, so that the
-- bodies of these are replaced; all indexes are made anew by their users' next searches.

-- What of a text is indexed. A letter is what is neither space, digit nor punctuation, because in the locale C the class of letters is ASCII.
create or replace function gateway.searchable_text(content text) returns text
    language sql immutable
    return regexp_replace(normalize(content, nfc), gateway.unspaced_letters() || '|[/<>]|\.(?=[^[:space:][:digit:][:punct:]])', ' \& ', 'g');

-- The same of a query of websearch_to_tsquery, of which every second part is in quotes already.
create or replace function gateway.searchable_query(query text) returns text
    language sql immutable
    return (
        select string_agg(
            gateway.searchable_text(
                case p.place % 2
                    when 0 then p.part
                    else regexp_replace(
                        p.part,
                        '[^[:space:][:punct:]][^[:space:]]*[/<>.][^[:space:]]*[^[:space:][:punct:]]|' || gateway.unspaced_letters() || '+',
                        '"\&"', 'g')
                end),
            '"' order by p.place)
        from string_to_table(query, '"') with ordinality as p (part, place));

update gateway.search_progress set change = -1;
