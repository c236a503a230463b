-- A test that runs without a server.
local redis = {call = function(name, key) return name .. key end}
print(redis.call('GET', 'a'))
