local balance = redis.call('GET', KEYS[1]) or 0
balance = balance - ARGV[1]
if balance < 0 then return -1 end
redis.call('SET', KEYS[1], balance)
return balance
