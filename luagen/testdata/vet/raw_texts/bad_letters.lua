local held = redis.call('get', KEYS[1]) or ''
local i = string.find(held, ':')
if string.sub(held, 1, i - 1) >= ARGV[1] then return 0 end
local version = string.match(held, '^v(%d+)')
if version and version < ARGV[2] then return 1 end
if string.match(ARGV[3], '%d+') == 5 then return 2 end
return 3
