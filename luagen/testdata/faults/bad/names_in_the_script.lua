redis.call('INCR', 'abc.{user1002}.followers')
redis.call('HINCRBY', 'abc.{user1002}.following', ARGV[1], 1)
return 1
