local run = {get = redis.call}
run.get('get', KEYS[1])
redis.call('sort', KEYS[2], 'by', 'weight_*')
return redis.call('keys', ARGV[1])
