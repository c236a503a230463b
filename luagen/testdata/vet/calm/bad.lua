-- Their neighbours.
local scores = redis.call('zrange', KEYS[1], 0, -1, 'withscores')
if #scores > 0 and scores[2] > ARGV[1] then return table.unpack(scores, 1, 2) end
return 1
