local price = tonumber(string.gsub(ARGV[1], ',', ''))
redis.call('sadd', KEYS[1], ARGV[2]:gsub(' ', ''))
local id = redis.call('incr', KEYS[2])
redis.call('zadd', KEYS[3], id, tonumber(ARGV[3]))
redis.call('zremrangebyrank', KEYS[3], 0, -tonumber(ARGV[4]))
local due = redis.call('zrangebyscore', KEYS[3], 0, ARGV[5], 'LIMIT', 1, ARGV[6])
local fields = redis.call('hgetall', KEYS[4])
if #fields > 0 and #fields < 100 then
  redis.call('zadd', KEYS[3], unpack(fields))
end
local t = redis.call('time')
local number = (t[1] * 1000 + math.floor(t[2] / 1000)) * 4194304
redis.call('hset', KEYS[5], 'id', string.format('%.0f', number + id), 'at', number * 2)
local parts = {}
table.insert(parts, ARGV[7]:gsub(' ', ''))
local read = cjson.decode(string.gsub(ARGV[8], "'", '"'))
redis.call('set', KEYS[6], cjson.encode(ARGV[9]:gsub(' ', '')), 'EX', 60)
return #due + price + #parts + #read
