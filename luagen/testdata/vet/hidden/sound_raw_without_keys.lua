local run = {call = redis.call}
return run.call('get', ARGV[1])
