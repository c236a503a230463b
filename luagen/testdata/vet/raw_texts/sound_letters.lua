local held = redis.call('get', KEYS[1]) or ''
local i = string.find(held, ':')
if tonumber(string.sub(held, 1, i - 1)) >= tonumber(ARGV[1]) then return 0 end
local day = string.match(held, '%d+-%d+-%d+')
if day and day < ARGV[2] then return 1 end
if string.sub(held, 1, #ARGV[3]) < ARGV[3] or string.sub(held, 1, 10) < ARGV[4] then return 2 end
local from, to = string.match(held, '()%d+()')
if from and from < to then return string.match(held, '%d+') end
return 3
