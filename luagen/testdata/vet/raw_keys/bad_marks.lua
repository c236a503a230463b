for _, name in ipairs(ARGV) do
  if redis.call('exists', name .. ':gone') == 1 then return 0 end
end
return redis.call('incr', KEYS[1])
