local text, part = redis.call('GET', KEYS[1]) or '', ARGV[1]
local at = text:find(part)
return at or 0
