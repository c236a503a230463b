local room = {users = KEYS[1] .. ':users', reserves = KEYS[1] .. ':reserves'}
room.history = KEYS[1] .. ':history'
redis.call('sadd', room.users, ARGV[1])
redis.call('zscore', room.reserve, ARGV[1])
redis.call('lpush', room.histroy, ARGV[1])
local bucket = redis.call('hmget', KEYS[2], 'tokens', 'last_refil')
redis.call('hset', KEYS[2], 'tokens', bucket[1] or ARGV[2], 'last_refill', bucket[2] or ARGV[3])
redis.call('hset', KEYS[3], 'state', 'new', 'failures', 0)
if redis.call('hget', KEYS[3], 'failures') == '0' then redis.call('hset', KEYS[3], 'state', 'old') end
redis.call('hset', KEYS[3], 'stte', 'done')
local flat, fields = redis.call('hgetall', KEYS[4]), {}
for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
redis.call('hset', KEYS[4], 'lastRefill', fields['last_refill'] or ARGV[3], 'message_count', fields.message or '')
local function by_name(list)
  local all = {}
  for i = 1, #list, 2 do all[list[i]] = list[i + 1] end
  return all
end
local lock = by_name(redis.call('hgetall', KEYS[5]))
redis.call('hset', KEYS[5], 'expires_ms', lock.expires or ARGV[3])
redis.call('hset', KEYS[6], 'c.e', redis.call('hget', KEYS[6], 'c.e') or ARGV[3])
redis.call('hset', KEYS[6], 'c_e', 1)
