local names = { lock = KEYS[1], queues = KEYS[2] }
local tokens = redis.call('HGET', names.lock, 'last_refil') or ARGV[1]
redis.call('HSET', names.lock, 'last_refill', tokens)
redis.call('EXPIRE', names.lock, 5)
redis.call('LLEN', names.queue)
local job = cjson.decode(ARGV[2])
job.attempts = (job.attemps or 0) + 1
return cjson.encode(job)
