-- A function in a table names an argument, too.
local by = {count = function() local step = ARGV[1] return redis.call('incrby', KEYS[1], step) end}
return by.count()
