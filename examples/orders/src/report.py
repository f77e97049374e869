# Databricks notebook source
display(spark.table("main.orders.orders_daily").orderBy("order_date", ascending=False).limit(30))  # noqa: F821
