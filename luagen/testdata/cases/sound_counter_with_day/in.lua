--- Counts an event in a hash by day, and forgets the hash some days after its first event.
---@key counts hash
---@arg day string
---@arg keep seconds
---@return int(1..9007199254740991) total
local total = redis.call('HINCRBY', counts, day, 1)
redis.call('EXPIRE', counts, keep, 'NX')
return total
