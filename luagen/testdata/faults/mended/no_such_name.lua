local name = 'db' .. (ARGV[1] or 0) .. ':length'
return {name, redis.call('LLEN', KEYS[1])}
