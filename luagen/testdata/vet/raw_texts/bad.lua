-- What a client sends is text, whatever it looks like.
local n = redis.call('incr', KEYS[1])
if n == ARGV[2] then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
local limit = ARGV[3]
if redis.call('strlen', KEYS[1]) > limit then return 0 end
local args = ARGV
if args[4] ~= 1 then return 0 end
for i = 5, #ARGV do
  if ARGV[i] < 10 then return i end
end
for _, a in ipairs(ARGV) do
  if a == 0 then return a end
end
if KEYS[1] == 1 or redis.call('get', KEYS[1]) == nil then return 0 end
if redis.call('get', KEYS[1]) == 1 then return 0 end
if tonumber(redis.call('get', KEYS[1])) == ARGV[1] then return 0 end
return {1, nil, 3}
