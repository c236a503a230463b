-- The fields of a hash go into a part of a table: what is read of other JSON is no field of the hash.
local reply = redis.call('hgetall', KEYS[1])
local all = {hash = {}}
for i = 1, #reply, 2 do
  all.hash[reply[i]] = reply[i + 1]
end
redis.call('hset', KEYS[1], 'status', ARGV[2])
return {cjson.encode(all), cjson.decode(ARGV[1]).states}
