local price = tonumber(string.gsub(ARGV[1], ',', ''))
redis.call('sadd', KEYS[1], ARGV[2]:gsub(' ', ''))
redis.call('zremrangebyrank', KEYS[3], 0, -tonumber(ARGV[4]))
local t = redis.call('time')
local number = (t[1] * 1000 + math.floor(t[2] / 1000)) * 4194304
redis.call('hset', KEYS[5], 'id', string.format('%.0f', number + 1), 'at', number * 2)
local parts = {}
table.insert(parts, ARGV[7]:gsub(' ', ''))
local read = cjson.decode(string.gsub(ARGV[8], "'", '"'))
redis.call('set', KEYS[6], cjson.encode(ARGV[9]:gsub(' ', '')), 'EX', 60)
return price + #parts + #read
