local room, side = {users = KEYS[1] .. ':users', limit = 5}, {users = 1}
local function fill(t) t.user = 1 end
fill(side)
redis.call('sadd', room.users, side.user, room.color or 'none', ARGV[1])
local bucket = redis.call('hmget', KEYS[2], 'tokens', 'last', 'shard1', 'user')
redis.call('hset', KEYS[2], 'tokens', bucket[1] or ARGV[2], 'refilled', ARGV[3], 'shard2', ARGV[3])
redis.call('hset', KEYS[3], 'users', ARGV[1])
return redis.call('hincrby', KEYS[2], 'token', 1)
