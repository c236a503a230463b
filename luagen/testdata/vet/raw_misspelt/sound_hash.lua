local flat, fields = redis.call('hgetall', KEYS[1]), {}
for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
redis.call('hset', KEYS[1], 'last_refill', fields['last_refill'] or ARGV[1], 'made', fields.attempts or 0)
redis.call('hset', KEYS[2], 'lastRefill', fields.last_refill, 'min_size', fields.max_size or 0, 'sent', fields.seen or 0)
local job = cjson.decode(ARGV[2])
redis.call('hset', KEYS[3], 'created_at', job.createdAt, 'token', redis.call('hget', KEYS[3], 'tokens') or '')
redis.call('hset', KEYS[3], 'tokens', 1, 'error', 'none', 'errors', redis.call('hget', KEYS[3], 'error') or 0)
local made, copied = {queue = KEYS[1], queued = KEYS[2]}, {users = 1}
for name, value in pairs(cjson.decode(ARGV[3])) do copied[name] = value end
redis.call('sadd', made.queue, made.queued, copied.user)
local library = {find_all = 1}
function library.find() return library.find_all end
redis.call('sadd', KEYS[4], library.find())
