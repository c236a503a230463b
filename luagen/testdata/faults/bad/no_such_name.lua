local name = 'db' .. DB_NO .. ':length'
return {name, redis.call('LLEN', KEYS[1])}
