local text, part = redis.call('GET', KEYS[1]) or '', ARGV[1]
local at = text:find(part, 1, true)
return at or 0
