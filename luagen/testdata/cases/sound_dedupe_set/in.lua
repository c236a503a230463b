--- Reports which ids are new, and remembers them until the day ends.
---@key day set
---@arg keep seconds
---@arg ids string...
---@return string[] new
local new = {}
for _, id in ipairs(ids) do
  if redis.call('sadd', day, id) == 1 then
    new[#new + 1] = id
  end
end
if redis.call('ttl', day) == -1 then
  redis.call('expire', day, keep)
end
return new
