#!lua name=mylib
redis.register_function('f', function(keys, args) return redis.call('get', keys[1]) end)
