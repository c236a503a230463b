redis.call('hset', KEYS[1], 'level_of_the_bucket_level_of_the_bucket_level_of_', 1)
return redis.call('hget', KEYS[1], 'level_of_the_bucket_xlevel_of_the_bucket_level_of_')
