local held = redis.call('get', KEYS[1]) or ''
local i = string.find(held, ':')
if string.sub(held, 1, i - 1) >= ARGV[1] then return 0 end
return 3
