-- A search for "--------" failed: websearch_to_tsquery takes each minus for an exclusion of what follows, and has room for 32 of them. Several minuses
-- before a word exclude nothing now, as two did.

-- The form of a query of websearch_to_tsquery, of which every second part is in quotes already. A minus stays before the word that it excludes.
create or replace function gateway.searchable_query(query text) returns text
    language sql immutable
    return regexp_replace(
        (
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
            from string_to_table(query, '"') with ordinality as p (part, place)),
        -- Between minuses websearch_to_tsquery passes over these, too. Not inside a word: "work--life" stays one.
        '(^|[[:space:]"!&|()<])-[-[:space:]!&|()<]*-', '\1 ', 'g');
